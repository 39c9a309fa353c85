"""Every number that bounds something: the unit in the name, the reason beside it.

Imports nothing: the near side reads it in every hook, and `typing` alone costs a hook more than the
whole interpreter. The names in capitals say that they are final.
"""

# --- disk proofs (first specification, "disk") ---
DISK_MAX_BYTES = 4 * 1024 * 1024  # a larger file is kept: keep_disk_too_large

# --- compaction defaults (first specification, sections 2, 3 and 6) ---
PRESERVE_RECENT_MESSAGES = 6
MIN_REDUCTION = 0.25  # share of characters from which a pass is called worth it

# --- reading shell commands ---
COMMAND_MAX_CHARS = 4096  # no plain read is longer; splitting words takes quadratic time
COMMANDS_REMEMBERED = 4096  # whose words are known already: each is asked about more than once

# --- duplicate search ---
ANCHOR_HITS_MAX = 64  # places of one anchor line that are compared; bounds repeated text

# --- lossy rules (first specification, "lossy") ---
LOSSY_RECENT_MESSAGES = 40  # the newest ones: nothing in them is trimmed, no read in them is stale
LOSSY_TRIM_ABOVE_CHARS = 4000
LOSSY_TRIM_HEAD_CHARS = 1000
LOSSY_TRIM_TAIL_CHARS = 1000
WHOLE_READ_MAX_LINES = 2000  # where the client's Read stops if no range is asked for

# --- stash pointers ---
PATH_MAX_CHARS = 4096  # Linux opens no longer one; what a credential file's name is looked for in
RECALL_ID_DIGITS = 24  # of a body's 64, in notes: 96 bits; nobody finds two bodies that share them
# Of a result that goes into the stash; for a short listing a call to recall it costs more than it
# frees (FR-098). On the 18 published sessions with 20 calls or more, laid out, a floor of 2,000
# frees 50.9 % of all characters, 1,500 52.8 %, 1,000 55.2 %, 800 56.2 %, 500 57.6 %, 200 58.3 %:
# this is the highest round one that frees 55 % and a little more.
STASH_FLOOR_CHARS = 800

# --- reading session files ---
TRANSCRIPT_MAX_BYTES = 1 << 30  # ten times the largest session seen; it is held in memory
LOOK_AT_LINES = 20  # that tell a session file from a JSON document; publishers add comment lines
STUB_TRIES_MAX = 4  # row starts tried on a damaged line; bounds work on hostile text

# --- report ---
TARGET_MAX_CHARS = 160  # of a path or a command; enough to know it again

# --- drill ---
DRILL_OUTPUT_MAX_BYTES = 16 * 1024 * 1024  # more than any client keeps of a command's output
DRILL_COMMAND_SECONDS = 20.0  # a read-only command over a large tree

# --- tokens: measured on 2.6 million characters of 28 published sessions with o200k_base ---
USUAL_CHARS_PER_TOKEN = 3.1  # all sessions together
TOKENS_AT_ONCE_CHARS = 50_000  # a million spaces in a row overrun the tokenizer's stack
CAUTIOUS_CHARS_PER_TOKEN = 2.2  # the densest session; a budget counted so is never overdrawn

# --- tokens as billed ---
BILLED_TOKENS_MAX = 10**8  # of one request; a hundred of the largest windows there are
BILLED_WEIGHT_LEAST = 0.1  # billed tokens of what weighs one; published sessions have 0.7 to 1.3,
BILLED_WEIGHT_MOST = 10.0  # so beyond these a file's usage is no bill of what stands in it
BILLED_ERROR_MOST = 0.5  # of a fit; the worst published session has 0.11; an estimate has less
BILLED_LINES_MAX = 4000  # of a session file, the newest; decoding them takes some 20 ms
BILLED_STEPS_MAX = 200  # that weights are fitted to, the newest; takes some 20 ms
BILLED_STEPS_LEAST = 6  # fewer say nothing about six weights
CALIBRATED_BYTES_MAX = 8 * 1024 * 1024  # of a live session, the newest: some 300 steps, in 0.1 s

# --- what tokens cost, against a token of fresh input: the provider's list prices ---
CACHE_READ_WORTH = 0.1
CACHE_WRITE_WORTH = 1.25  # kept for five minutes
CACHE_WRITE_HOUR_WORTH = 2.0
OUTPUT_WORTH = 5.0

# --- near side: what a hook may cost the person who waits for it ---
HOOK_TOTAL_SECONDS = 1.0  # all a hook does, a cold start too; < 2 s is promised on a busy machine
HOOK_STDIN_SECONDS = 0.5  # a host that keeps stdin open and silent is not waited for
HOOK_TIMEOUT_SECONDS = 10  # the host's limit, in hooks.json: well above ours, which comes first
HOOK_STDIN_MAX_BYTES = 16 * 1024 * 1024  # hook input holds no transcript; 10 MB has been seen
COMPACT_READY_SECONDS = 5.0  # a living one answers a ping in 40 ms; a cold start takes 0.4 s
COMPACT_TOTAL_SECONDS = 60.0  # 60 MB of rows take under a second; the rest is a loaded machine
COMPACT_STDIN_MAX_BYTES = 128 * 1024 * 1024  # slimmed rows of the largest sessions are 40-60 MB
HOOK_LOG_MAX_BYTES = 64 * 1024  # some hundred lines; then one older file beside it
LOG_LINE_MAX_CHARS = 400  # a log line names a failure; it never carries somebody's text

# --- starting the sidecar ---
START_WAIT_SECONDS = 10.0  # `lcc sidecar start` on a cold, loaded machine
START_BACKOFF_SECONDS = 10.0  # a sidecar that cannot start is not started by every hook (FR-129)
START_POLL_SECONDS = 0.02  # a start takes 150-300 ms; a look costs some 50 us

# --- wire ---
HEADER_BYTES = 4  # length of one frame, big-endian
REQUEST_MAX_BYTES = COMPACT_STDIN_MAX_BYTES + 4096  # the largest request and its envelope
REPLY_MAX_BYTES = 4_000_000  # the client cuts a process's stdout at 4 MiB
ENVELOPE_BYTES = 1024  # what a reply adds around an answer
SOCKET_PATH_MAX_BYTES = 100  # sun_path holds 104 on macOS, 108 on Linux, with a closing NUL
TOKEN_BYTES = 32  # 256 bits, where loopback TCP stands in for a Unix socket

# --- sidecar ---
IDLE_EXIT_SECONDS = 30 * 60.0  # a pause at lunch keeps the index warm; a night does not
TICK_SECONDS = 1.0  # how soon it notices that it is idle or was replaced; one wake-up costs 50 us
CONNECTIONS_MAX = 32  # twenty hooks at once have been seen; the rest wait in the queue
BACKLOG_MAX = 128  # callers that wait for a connection
FIRST_BYTES_SECONDS = 2.0  # a caller has its request ready before it connects
REQUEST_READ_SECONDS = 20.0  # 60 MB over a Unix socket take 0.1 s
DRAIN_SECONDS = 60.0  # 300 MB are indexed in under a second
LEAVE_SECONDS = 5.0  # how long a stopping sidecar waits for answers under way
TAKE_OVER_SECONDS = 8.0  # how long a new one waits for the lock; more than LEAVE_SECONDS
SIDECAR_LOG_MAX_BYTES = 256 * 1024  # some hundred reports; then one older file beside it

# --- sessions the sidecar follows ---
SESSIONS_MAX = 16  # people work in a handful at a time; the rest is read again when it comes back
INDEXED_ROWS_MAX = 200_000  # over all sessions; some 450 bytes each, about 90 MB
READ_CHUNK_BYTES = 1024 * 1024  # read at a time; more brings no speed and holds more memory
LINE_MAX_BYTES = 256 * 1024 * 1024  # a longer line is no row; it is passed over
ANCHOR_BYTES = 4096  # at both ends of what was read: tells a grown file from a replaced one
SETTLING_SHARE = 0.05  # of the indexer's time: for what is worked out of a session that has grown
SETTLING_PAUSE_MAX_SECONDS = 20.0  # after the largest; a stalled disk holds nobody up for longer
SETTLE_SECONDS = 10.0  # after a nudge the file is looked at until it was quiet for so long (FR-077)
SESSION_ID_MAX_CHARS = 128  # a UUID has 36

# --- installer ---
SETTINGS_MAX_BYTES = 16 * 1024 * 1024  # a settings file has some kilobytes
SETTINGS_EDIT_TRIES_MAX = 20  # how often somebody else may write just before we do
PROBE_SECONDS = 20.0  # an interpreter that starts answers in 0.1 s; a cold disk takes seconds
PACKAGES_SECONDS = 900.0  # 45 MB of wheels over a slow line
INSTALL_WAIT_SECONDS = 900.0  # another install on its way takes as long at most
LCC_SECONDS = 120.0  # a sample takes half a second; the largest real sessions some more
SESSION_HEAD_ROWS_MAX = 50  # rows looked at for the session's folder; it stands in the first few
CLIENT_ANSWER_SECONDS = 20.0  # `claude --version` takes 0.1 s
PROFILE_SECONDS = 5.0  # a login shell that takes longer is a finding of its own

# --- live compaction ---
FAR_FROM_LIMIT_PERCENT = 60  # of the window; auto-compaction comes at 90 % and more
LEAST_SHARE_PERCENT = 5.0  # of a conversation; less is not worth breaking the prompt cache for
FILE_BEHIND_SECONDS = 1.0  # the client writes rows down within some 100 ms, on a busy machine too
FILE_BEHIND_POLL_SECONDS = 0.02  # a look at a file that has not changed costs microseconds

# --- judges (first specification, sections 2 and 4) ---
KEEP_THRESHOLD = 0.5  # a probability from which a call or a result is still needed
TRIM_HEAD_CHARS = 300  # of a result that is trimmed; enough to know what it was
STATE_MAX_TOKENS = 25_000  # the conversation, sent again with each request
REQUEST_MAX_TOKENS = 30_000  # Jev 1.13 refuses from about 35,700 of its own tokens on
BATCH_CALLS = 8  # calls asked about at once: two questions each
JUDGE_WORKERS = 4
JUDGE_WORKERS_MAX = 32  # more only earns refusals for too many requests
ENVELOPE_TOKENS = 64  # what a request holds beside its state and its questions
INPUT_CUT_CHARS = 200  # the stage inputs-200 is named for it
TEXT_HEAD_CHARS = 400  # of a long text that is abridged: what it is about stands at its start
TEXT_TAIL_CHARS = 200  # and what came of it at its end
LINE_INPUT_CHARS = 80  # of an input in a call's one line: a path or the start of a command
DENSE_RUN_CHARS = 32  # without a break: hashes, keys, base64; one token a character
REDACT_DEPTH_MAX = 64  # of nested inputs; what stands deeper is left out

# --- provider jev ---
JEV_CONNECT_SECONDS = 5.0
JEV_READ_SECONDS = 30.0  # an answer takes some hundred milliseconds; a queue takes longer
JEV_TOTAL_SECONDS = 180.0  # for all requests of a pass; what is not answered by then is kept
JEV_TRIES_MAX = 4  # one and three more
JEV_BACKOFF_SECONDS = 0.5  # before the second try; doubled before each further one
JEV_RETRY_AFTER_MAX_SECONDS = 30.0  # asked to wait longer, the request is given up
JEV_ANSWER_MAX_BYTES = 1024 * 1024  # some 60 bytes an answer
JEV_KEY_FILE_MAX_BYTES = 4096
JEV_KEY_MIN_CHARS = 8  # a shorter one, of a test server, would also stand in everyday words

# --- provider laya: its checkpoints see 512 or 1,024 tokens, the question among them ---
LAYA_MARGIN_TOKENS = 20  # how much the state as the model reads it differs from the JSON counted
LAYA_INPUT_CHARS = (600, 300, 120, 60)  # of each part of what it is shown, the most that fits

# --- MCP: an answer has to stay under the client's 25,000 tokens, whatever a report holds ---
MCP_GROUPS_MAX = 16  # a pass has some ten reasons; a report from elsewhere may hold any number
MCP_WARNINGS_MAX = 8  # a judge that is down warns once for each call
MCP_TEXT_MAX_CHARS = 80  # of a reason, a tool's name, a path; all texts together make 8,000
MCP_WARNING_MAX_CHARS = 200
MCP_ANSWER_MAX_CHARS = 20_000  # all that is bounded above makes less; a dense token is a character
MCP_ERROR_MAX_CHARS = 600  # one sentence with a path in it
KEPT_COMPACTIONS_MAX = 20  # files behind earlier answers; one is read right after its answer

# --- mode elide (second specification) ---
RESERVE_TOKENS = 60_000  # of the window that a pass leaves free
KEEP_RECENT_MESSAGES = 12
EVIDENCE_BUDGET_TOKENS = 30_000
CONTEXT_WINDOW_TOKENS = 200_000  # of the models that the client uses unless told otherwise
OVERHEAD_TOKENS = 18_500  # the client's system prompt and tools: 18,472 of a session of one turn
AGGRESSIVE_KEEP_RECENT_MESSAGES = 4  # what was just asked and the last two answers
ARTIFACT_IDS_MAX = 8  # cited in one marker; the specification says why
ARTIFACT_ID_MAX_CHARS = 64  # a SHA-256 in hex; what is longer is no id that somebody types
ARTIFACT_SEARCH_MAX_CHARS = 1_000_000  # of one result; takes about 50 ms
ARTIFACT_PATTERNS_MAX = 16
ARTIFACT_PATTERN_MAX_CHARS = 200
MARKER_TOOL_MAX_CHARS = 128  # the longest name that the provider takes
CONFIG_MAX_BYTES = 1024 * 1024  # a config file has some hundred bytes

# --- stash ---
STASH_BUSY_SECONDS = 5.0  # how long a writer waits for another one; a batch takes some 100 ms
STASH_PAGE_BYTES = 8192  # a packed result has some kilobytes: few pages to follow
STASH_ZSTD_LEVEL = 3  # 300 MB/s; the higher ones take twice the time for a tenth of the size
STASH_BODY_MAX_BYTES = 64 * 1024 * 1024  # the client itself cuts results far below
STASH_BATCH = 32  # entries a transaction at most: others wait as long for their turn
STASH_BATCH_BYTES = 256 * 1024  # and so many bytes; their words take some 20 ms
RECORDER_READ_BYTES = 256 * 1024  # read ahead; a line that is longer is held anyway
STASH_TARGET_MAX_CHARS = 200  # of a path or a command; enough to know it again
SEE_SECONDS = 0.7  # of a hook's one second for what is new; what is left then goes on behind it

# --- what the model is told after a compaction ---
AFTER_MAX_CHARS = 1000  # it stands in the window from then on (FR-023: a kilobyte)
AFTER_FAILED_MAX = 4  # the newest failures come first: they are what is asked for
AFTER_TARGET_CHARS = 60
AFTER_COMMAND_CHARS = 200  # a longer command line is left to the tool

# --- the sidecar's own look at what the stash need not keep ---
COLLECT_FIRST_SECONDS = 60.0  # a start is for whoever waits for it
COLLECT_EVERY_SECONDS = 6 * 3600.0  # it is due by days and by gigabytes

STATUSLINE_KEPT_SECONDS = 7 * 86_400.0  # a session that goes on after that is asked for anew

# --- tiers of a live compaction ---
FULL_PERCENT = 60  # of the window after a pass; fuller, and the next compaction would come soon
USUAL_WINDOW_TOKENS = 200_000  # where the client does not say how large it is
AUTO_PERCENT = 85  # of the window, where the client compacts by itself: 167k of 200k, 967k of 1M

LOOKED_UP_AT_ONCE = 500  # values in one query; SQLite takes 999 and more

# --- words of the stash (what an index holds was made with these numbers) ---
WORD_MAX_CHARS = 64  # a SHA-256 in hex; what is longer is found by its start
WORDLESS_RUN_MIN_BYTES = 1000  # of base64's letters without a break: nobody writes that
WORDS_OF_A_TEXT_MAX = 50_000  # a megabyte of log lines has some 30,000
WORDS_TEXT_MAX_CHARS = 4_000_000  # half a second of work; the client itself cuts results far below

# --- recall: what a search may cost; all of it is under 150 ms with 100,000 entries ---
QUERY_WORDS_MAX = 16  # a sentence of an error; each more is another look into the index
QUERY_ROWS_MAX = 1000  # entries of one word that are weighed, the newest; 0.5 us each
QUERY_LONGER_WORDS_MAX = 8  # of the index that begin with what was asked
QUERY_CANDIDATES_MAX = 100  # whose length and place are looked up
SNIPPET_BODIES_MAX = 16  # that are unpacked and looked through
SNIPPET_BYTES_MAX = 4 * 1024 * 1024  # of them all together; 16 words are looked for in each
QUERY_HITS_MAX = 8  # shown; some 5,000 characters
SNIPPET_LINES = 5
SNIPPET_LINE_MAX_CHARS = 200
SNIPPET_WINDOW_CHARS = 2000  # around a place in lines without end
SNIPPET_WORDS_MAX = 3  # the rarest, at whose places a text is looked at
SNIPPET_LOOKS_MAX = 12  # at whose words one text is looked closely; 30 us each
SNIPPET_PLACES_MAX = 32  # of one word in one text

# --- recall: references and answers ---
ID_MIN_DIGITS = 12  # 48 bits: no two of a million bodies share them by chance
CANDIDATES_SHOWN_MAX = 5  # bodies that an ambiguous id names
RECALL_ANSWER_MAX_BYTES = 22_000  # to an agent; a token is a byte at least, and 25,000 are allowed
RECALL_TARGET_MAX_CHARS = 80  # of a path or command in one line about an entry
RECALL_UP_TO_DATE_SECONDS = 2.0  # for the sidecar to read on; then what is there answers

# --- what the stash lets go (settings.py holds what a person chose instead) ---
STASH_DAYS = 30  # as long as the client keeps its own session files
STASH_DAYS_MAX = 36_500  # a century: for ever, without overrunning a clock
STASH_MAX_BYTES = 5_000_000_000
STASH_LEAST_BYTES = 10_000_000  # an empty stash has 300 KB; below this it would only churn
STASH_LIVE_SECONDS = 86_400.0  # a session seen since then is not over, whatever its file does
STASH_STEP_SECONDS = 0.02  # of one transaction of gc: a live compaction waits for it
STASH_STEP_ENTRIES = 64  # that one body's removal takes out of the search at a time
STASH_STEP_PAGES = 128  # given back or merged at a time: a megabyte
STASH_LOOK_OBJECTS = 256  # looked at before others may read again
STASH_ROOM_SHARE = 20  # of the cap is made free beyond it: rewriting the search index is the cost
STASH_MERGE_SHARE = 8  # the search index is rewritten when an eighth of it went
STASH_CHECKPOINT_SECONDS = 0.1  # that gc waits for readers; the next run cuts the log, too

# --- request log (off until it is turned on) ---
REQUEST_LINE_MAX_BYTES = (
    16 * 1024
)  # a line has some 900; all reasons and all tools there are make 12,700
REQUEST_LOG_MAX_BYTES = 16_000_000  # some 18,000 passes; then a new file begins
REQUEST_LOG_FILES_MAX = 8  # years of work in 128 MB at most
REQUEST_LOG_DAYS = 90  # a quarter to look back on; what is older tells little of today's version
REQUEST_LOG_WAIT_SECONDS = 0.2  # for others who append; one of them takes some 0.1 ms
REQUEST_LOG_POLL_SECONDS = 0.001
REQUEST_LOG_OFF_TRIES = 10  # to have the lock once: two seconds, where many append
REQUEST_LOG_SETTLE_SECONDS = 0.05  # from asking whether it is on to having written: 0.1 ms
LOG_WORD_MAX_CHARS = 60  # of a reason; they are our own words

# --- review of the request log ---
REVIEW_CHUNK_BYTES = 64 * 1024  # decoded at once; what it becomes stays in the processor's cache
REVIEW_LINE_MAX_BYTES = 64 * 1024  # a pass has some 1,000; what is longer is none of ours
REVIEW_RANGE_BYTES = 32 * 1024 * 1024  # one process's turn; a quarter of a second
REVIEW_PROCESSES_MAX = 8  # of some 40 MB each; the merging takes over beyond that
REVIEW_NAME_MAX_CHARS = 64  # of a reason, a mode, a tool; ours have at most 40
REVIEW_NAMES_MAX = 200  # in one table: there are some 70 reasons; the smallest become "other"
REVIEW_DAYS_MAX = 4000  # ten years; the oldest become one day
REVIEW_SESSIONS_MAX = 20_000  # counted one by one, 200 bytes each
REVIEW_RECALLED_MAX = 100_000  # results known apart, 100 bytes each; beyond it is "at least"
REVIEW_TALLY_MAX_BYTES = 16 * 1024 * 1024  # one file's; of what a log's file can hold 3 MB at most
REVIEW_SHOWN_MAX = 8  # rows of a table
REVIEW_BARS_MAX = 60  # along the time: narrower ones cannot be told apart on a phone
CLOCK_SKEW_SECONDS = 86_400.0  # a line is allowed to be ahead of the clock
LATENCY_STEP = 1.05  # of the histogram: a percentile is off by 2.5 percent at most
LATENCY_LEAST_MS = 0.01  # below it nothing is told apart
COUNT_MAX = 10**15  # of characters or tokens in one line; nobody has so many
MS_MAX = 1e9  # of one pass: eleven days
# --- bench ---
BENCH_ELIDE_SHARE = 0.6  # of its own size that a session's window has for mode elide
BENCH_LEAST_CALLS = 20  # of a session whose figures are pooled; in shorter ones little can go
BENCH_FILE_LINES_MAX = 2_000_000  # of a file that is rebuilt; a session can claim any height
BENCH_CALLS_MAX = 100_000  # of a made-up session: 6.5 KB a call, and a file may have 1 GiB
BENCH_SESSION_SECONDS = 3600.0  # the largest published one takes 10 s, with a peer a minute
PEER_INSTALL_SECONDS = 600.0  # a few megabytes of wheels over a slow line
PEER_ANSWER_SECONDS = 300.0  # its time grows with the square of a session's calls
PEER_SLOW_SECONDS = 15.0  # a pass that took longer is run once, and none larger is tried

/**
 * Answers a compaction through the sidecar: old tool results become pointers, every word stays.
 *
 * What can be decided elsewhere is decided in the sidecar. Whatever is not certain, and whatever
 * fails, goes on to `next(e)`: Claude Code's own summary runs as if this plugin were not there.
 */
import { answerCommand, noAnswer, registerCommand } from './command.mjs'
import { interpreter } from './interpreter.mjs'
import { clientStarts, isAhead, sessionStarts, turnIsOver } from './proactive.mjs'
import { rebuilt } from './rebuild.mjs'
import { requestFrom } from './request.mjs'

const COMPACT_TIMEOUT_MS = 70_000 // above the near side's own limit, so that one comes first
const TOAST_MS = 12_000 // one line with figures, while the screen is redrawn under it
const LOG_AFTER_MS = 1_500 // a line written sooner goes with the screen that is redrawn

const NO_ANSWER = "the sidecar gave no answer (lcc doctor says why); Claude's own summary runs"

export const register = (on, options) => {
  on('session.compact', async ($, e, next) => {
    if (e.trigger === 'precompute') return next(e)
    const request = await requestFrom($, e, options)
    if (!request) return withoutUs(e, next)
    const reply = await answerTo($, request)
    const isReplaced = reply?.outcome === 'replaced'
    const messages = isReplaced ? rebuilt(e.messages, reply) : undefined
    if (!messages && isAhead(e)) return withoutUs(e, next)
    if (!reply) tell($, NO_ANSWER)
    if (isReplaced && !messages) return next(e) // and no receipt: it would not be true
    if (reply?.skip) return { skip: `lcc: ${reply.reason}` }
    if (reply?.receipt) tell($, reply.receipt)
    if (!messages) return next(e)
    return { messages, tokensBefore: reply.tokens_before, tokensAfter: reply.tokens_after }
  }).catch(($, e, next) => withoutUs(e, next))

  on('classic.SessionStart', async ($, e, next) => {
    const told = await sessionStarts($, e, options)
    if (told) tell($, told)
    return next(e)
  }).catch(($, e, next) => next(e))

  on('session.start', async ($, e, next) => {
    await registerCommand($)
    await clientStarts($)
    return next(e)
  }).catch(($, e, next) => next(e))

  on('turn.complete', async ($, e, next) => {
    const done = await next(e)
    await turnIsOver($, e, options)
    return done
  }).catch(($, e, next) => next(e))

  on('command.run', { command: 'lcc' }, ($, e) => answerCommand($, e)).catch(noAnswer)
}

/** What happens where there is no answer: the summary runs, unless nobody has asked for any. */
const withoutUs = (e, next) =>
  isAhead(e) ? { skip: 'lcc: not worth a summary yet' } : next(e)

/** Shows the person a line now, and leaves it in the transcript. The model does not see it. */
function tell($, text) {
  $.ui.toast(text, { timeoutMs: TOAST_MS })
  $.clock.after(LOG_AFTER_MS, () => $.ui.log(text))
}

/** The sidecar's reply, or undefined if there is no whole one. */
async function answerTo($, request) {
  const command = [...interpreter, `${$.plugin.root}/hooks/compact.py`]
  const stdin = JSON.stringify(request)
  const ran = await $.process.run(command, { stdin, timeoutMs: COMPACT_TIMEOUT_MS })
  if (ran.exitCode !== 0 || ran.isStdoutTruncated || !ran.stdout) return undefined
  const reply = JSON.parse(ran.stdout)
  return reply?.ok === true ? reply : undefined
}

/** What the sidecar is asked: the conversation, as little of it as decides. */
import { isAhead } from './proactive.mjs'

/** The request for a compaction, or undefined where its files are not on this machine. */
export async function requestFrom($, e, options) {
  const { transcriptPath, isWorkspaceRemote } = await $.session.info()
  if (isWorkspaceRemote || !transcriptPath) return undefined
  return {
    session_id: await $.session.id(),
    transcript_path: transcriptPath,
    cwd: await $.session.cwd(),
    trigger: e.trigger,
    agent_id: e.agentId,
    instructions: isAhead(e) ? undefined : e.instructions,
    options: {
      mode: options?.mode,
      escalate: options?.escalate,
      least_share: options?.least_share,
      too_little: options?.too_little,
    },
    rows: e.messages.map(slim),
    newest: await newestResults($, e),
    usage: await usage($),
  }
}

/** How full the window is, in tokens, as far as the client knows. */
async function usage($) {
  const { tokens, window } = (await $.session.usage()).context ?? {}
  return { tokens, window }
}

/** A row without what stands in it twice. Its handle is its uuid in the session file. */
const slim = ({ role, text, toolUses, toolResults, handle }) => ({
  role,
  text,
  uses: toolUses.map(({ tool_use_id, tool, input }) => ({ id: tool_use_id, tool, input })),
  results: toolResults?.map(r => ({ id: r.tool_use_id, text: r.text, error: r.isError === true })),
  handle,
})

/**
 * The blocks of the newest message, if it holds tool results: what the next request would say.
 *
 * In the middle of a turn the session file may not have it yet, with the images in it and the
 * words that hang on it.
 */
async function newestResults($, e) {
  const lastSpoken = e.messages.findLastIndex(row => row.role === 'assistant')
  if (!e.messages.slice(lastSpoken + 1).some(row => row.toolResults?.length)) return undefined
  const whose = e.agentId === undefined ? {} : { agentId: e.agentId }
  const read = await $.session.messages({ as: 'api', last: 1, ...whose })
  return Array.isArray(read) ? read.at(-1)?.content : undefined
}

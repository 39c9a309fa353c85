/**
 * Compacts ahead of the limit, if the person has asked for it: at the end of a turn, once the
 * window is as full as they said; and when a session is resumed whose prompt cache has expired, so
 * that it costs nothing that would not be paid anyway.
 *
 * Awaited, and never from a timer: there the client passes our own answer over and has a summary
 * written. In headless runs the client refuses it, and nothing happens.
 */
const AHEAD = 'lcc-sidecar: ahead of the limit' // tells our own asking from anybody else's
const STEP_PERCENT = 10 // what freed too little is not tried again before the window grew so much
const CACHE_EXPIRED =
  'the prompt cache of this session has expired: a /compact now costs nothing extra'

/** Whether a compaction is one that nobody typed: then no summary has to run. */
export const isAhead = e => e.trigger === 'plugin' && e.instructions === AHEAD

const state = { nextAt: 0, isCold: false, hasSession: false, isRunning: false }

/** At the end of a turn: compacts, if the window is as full as the person said. */
export async function turnIsOver($, e, options) {
  const wanted = wantedFill(options)
  if (!wanted || e.isAborted) return
  const percent = await filled($)
  if (percent < wanted) state.nextAt = wanted
  if (percent < Math.max(wanted, state.nextAt)) return
  await compact($)
  state.nextAt = (await filled($)) + STEP_PERCENT
}

/**
 * A session is there, or there again. One that a starting client resumes is compacted if its cache
 * has expired; the two events of a start come in either order. Where a running client changes to
 * one there is no moment before the first prompt: returns a line that says so.
 */
export async function sessionStarts($, e, options) {
  const isFirst = !state.hasSession
  state.hasSession = true
  const isBack = e.source === 'resume' || e.source === 'fork'
  state.isCold = wantedFill(options) > 0 && isBack && e.prompt_cache_likely_expired === true
  if (!isFirst) return state.isCold ? CACHE_EXPIRED : undefined
  if (state.isRunning) await compactCold($)
  return undefined
}

/** A client starts, before its first prompt. */
export async function clientStarts($) {
  state.isRunning = true
  await compactCold($)
}

async function compactCold($) {
  if (!state.isCold) return
  state.isCold = false
  await compact($)
}

const wantedFill = options => Number(options?.proactive_fill ?? 0) || 0 // percent; 0 is never

async function filled($) {
  return (await $.session.usage()).context?.percent ?? 0
}

async function compact($) {
  try {
    await $.session.compact({ instructions: AHEAD })
  } catch {
    // headless, or nothing to compact: all stays as it was
  }
}

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

const state = { nextAt: 0, isCold: false, isRunning: false }

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

/** A session is back: remembers whether compacting it costs anything; says a line if it must. */
export function sessionIsBack(e, options) {
  const isBack = e.source === 'resume' || e.source === 'fork'
  state.isCold = wantedFill(options) > 0 && isBack && e.prompt_cache_likely_expired === true
  // In a client that runs already there is no moment before the first prompt to do it at.
  return state.isCold && state.isRunning ? CACHE_EXPIRED : undefined
}

/** A client starts, before its first prompt: compacts a session whose cache has expired. */
export async function clientStarts($) {
  state.isRunning = true
  if (state.isCold) await compact($)
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

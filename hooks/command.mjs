/** `/lcc`: what fills the window and what left it, for the person alone, without a model. */
import { interpreter } from './interpreter.mjs'

const VERBS = ['context', 'tier'] // what there is to ask about the session one is in
const TIMEOUT_MS = 20_000
const NO_ANSWER = 'lcc gave no answer; lcc doctor says why'

/** Makes the command known, for this session. */
export async function registerCommand($) {
  await $.command.register({
    name: 'lcc',
    description: 'Show what fills the context, what could go, and what lcc-sidecar took out',
    argumentHint: '[context|tier]',
  })
}

/** The answer to `/lcc ...`. */
export async function answerCommand($, e) {
  const [verb = 'context', ...words] = e.args.trim().split(/\s+/).filter(Boolean)
  if (!VERBS.includes(verb)) return shown(`/lcc knows ${VERBS.join(' and ')}; all else: lcc --help`)
  const asked = [verb, await $.session.id(), ...words]
  const command = [...interpreter, `${$.plugin.root}/hooks/lcc.py`, ...asked]
  const env = { COLUMNS: String(e.presentation?.columns ?? 80) }
  const ran = await $.process.run(command, { env, timeoutMs: TIMEOUT_MS })
  return shown(ran.stdout.trimEnd() || ran.stderr.trimEnd() || NO_ANSWER)
}

export const noAnswer = () => shown(NO_ANSWER)

const shown = text => ({ text, isTextDisplayOnly: true })

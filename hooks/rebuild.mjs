/**
 * The conversation with the sidecar's decisions in it.
 *
 * Only user rows without tool results are handed back as they are, and the assistant rows of a tool
 * loop that is still open (`kept_from`): any other row, handed back, brings the whole conversation
 * from before the compaction back when the session is resumed.
 */

/** The new rows, or undefined if the reply does not fit the rows it is for. */
export const rebuilt = (rows, reply) => {
  if (!fits(rows, reply)) return undefined
  const carried = Map.groupBy(reply.carry, ({ after }) => after)
  const keptFrom = reply.kept_from ?? rows.length
  const dropped = new Set(reply.drop) // rows that the client has twice
  const made = []
  let results // the one row that gathers the results of a run of user rows
  rows.forEach((row, index) => {
    if (dropped.has(index)) return
    if (row.role === 'assistant') {
      results = undefined
      if (index >= keptFrom) made.push(row)
      else addSpoken(made, row)
    } else if (!row.toolResults?.length) {
      made.push(row)
    } else {
      if (!results) made.push((results = { role: 'user', text: '', toolUses: [], toolResults: [] }))
      results.text = joined(results.text, row.text)
      results.toolResults.push(...row.toolResults.map(result => noted(result, reply.notes)))
    }
    for (const { text } of carried.get(index) ?? []) made.push({ role: 'user', text, toolUses: [] })
  })
  return isPaired(made) ? made : undefined
}

const joined = (one, other) => [one, other].filter(Boolean).join('\n')

const noted = ({ tool_use_id, text, isError }, notes) => ({
  tool_use_id,
  text: Object.hasOwn(notes, tool_use_id) ? notes[tool_use_id] : text,
  isError: isError === true,
})

/** Adds what the model said and called to the response before it, if that is rebuilt as well. */
const addSpoken = (made, { text, toolUses }) => {
  if (!text && !toolUses.length) return // a thinking block: it cannot be written, and may go
  const last = made.at(-1)
  const isOpen = last?.role === 'assistant' && last.handle === undefined
  const response = isOpen ? last : { role: 'assistant', text: '', toolUses: [] }
  if (!isOpen) made.push(response)
  response.text = joined(response.text, text)
  const uses = toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input }))
  response.toolUses.push(...uses)
}

/** Whether every decision is about something that is there. */
const fits = (rows, { notes, carry, drop, kept_from: keptFrom }) => {
  if (typeof notes !== 'object' || notes === null) return false
  if (!Array.isArray(carry) || !Array.isArray(drop)) return false
  const left = rows.filter((_, index) => !drop.includes(index))
  const ids = left.flatMap(row => (row.toolResults ?? []).map(result => result.tool_use_id))
  const known = new Set(ids)
  return (
    known.size === ids.length &&
    Object.entries(notes).every(([id, note]) => known.has(id) && isText(note)) &&
    carry.every(({ after, text }) => isIndex(after, rows) && isText(text)) &&
    drop.every(index => isIndex(index, rows)) &&
    (keptFrom === undefined || isIndex(keptFrom, rows))
  )
}

const isText = value => typeof value === 'string' && value !== ''
const isIndex = (value, rows) => Number.isInteger(value) && value >= 0 && value < rows.length

/** Whether the person begins, and each call has its result in the user rows right behind it. */
const isPaired = rows => {
  let open = new Set()
  let isAnswered = true // whether user rows came since the last call
  for (const row of rows) {
    const isSpoken = row.role === 'assistant'
    if (isSpoken && isAnswered && open.size) return false
    isAnswered = !isSpoken
    for (const use of row.toolUses) open.add(use.tool_use_id)
    for (const result of row.toolResults ?? []) if (!open.delete(result.tool_use_id)) return false
  }
  return rows[0]?.role === 'user' && open.size === 0
}

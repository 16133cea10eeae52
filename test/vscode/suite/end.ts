/** The file that the suite makes when it is through, next to its events. */
export function endOf(eventsFile: string): string {
  return `${eventsFile}.end`;
}

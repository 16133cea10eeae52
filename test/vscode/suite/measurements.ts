const notes: string[] = [];

/** Notes a measurement that `npm test` prints under its tier. */
export function measured(note: string): void {
  notes.push(note);
}

/** All measurements so far. */
export function measurements(): readonly string[] {
  return notes;
}

/** Schedules by nanotron's names of them (`pp_engine`); GPipe is all forwards before all backwards. */
export const nanotronEngines = { '1f1b': '1F1B', afab: 'GPipe' } as const;

/** nanotron's name of a schedule; undefined: it does not run it. */
export function engineOf(schedule: string): string | undefined {
  return Object.entries(nanotronEngines).find(([, name]) => name === schedule)?.[0];
}

/** What nanotron calls its schedules (`pp_engine`); GPipe is all forwards before all backwards. */
export const nanotronEngines: Readonly<Record<string, string>> = { '1F1B': '1f1b', GPipe: 'afab' };

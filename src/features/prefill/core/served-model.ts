import type { Run } from '../../../core/run/run';

/** The folder of the config.json of a run, which engines read; null: its files name no such folder. */
export function servedModel({ files }: Pick<Run, 'files'>): string | null {
  const config = files.find((each) => /(?:^|[/\\])config\.json$/u.test(each));
  return config === undefined ? null : config.replace(/[/\\]?config\.json$/u, '') || '.';
}

/** The prompt where nothing names one, and the model has more positions. */
const longestUsual = 131_072;

/** As many tokens as a model has positions for, up to a usual limit. */
export function usualPrompt({ model }: Run): number {
  return Math.min(model.maxPositions.value ?? longestUsual, longestUsual);
}

import type { Run } from '../../../core/run/run';

/** What engines call the model of a run: the folder of its config.json; without one, the file that describes it. */
export function servedModel({ file, files }: Pick<Run, 'file' | 'files'>): string {
  const config = files.find((each) => /(?:^|[/\\])config\.json$/u.test(each));
  return config === undefined ? file : config.replace(/[/\\]?config\.json$/u, '') || '.';
}

/** The prompt where nothing names one, and the model has more positions. */
const longestUsual = 131_072;

/** As many tokens as a model has positions for, up to a usual limit. */
export function usualPrompt({ model }: Run): number {
  return Math.min(model.maxPositions.value ?? longestUsual, longestUsual);
}

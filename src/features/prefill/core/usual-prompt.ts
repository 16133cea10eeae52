import type { Run } from '../../../core/formats/run';

/** The prompt where nothing names one, and the model has more positions. */
const longestUsual = 131_072;

/** As many tokens as a model has positions for, up to a usual limit. */
export function usualPrompt({ model }: Run): number {
  return Math.min(model.maxPositions.value ?? longestUsual, longestUsual);
}

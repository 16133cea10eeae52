import { defineCommand } from '../command';

export const simulateCommand = defineCommand({
  takes: 'FILE',
  description: "a schedule, ours or PyTorch's CSV, of a raw problem: times, bubble, order",
  options: {},
  start:
    ({ path }) =>
    async (_, texts) => {
      const { simulateAnswer } = await import('../answers/simulate');
      const { readInto, referencedInto } = await import('../read-config');
      return simulateAnswer(await readInto(texts, path), referencedInto(texts));
    },
});

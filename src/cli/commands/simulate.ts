import { simulateAnswer } from '../answers/simulate';
import { defineCommand } from '../command';
import { readInto, referencedInto } from '../read-config';

export const simulateCommand = defineCommand({
  takes: 'FILE',
  description: "a schedule, ours or PyTorch's CSV, of a raw problem: times, bubble, order",
  options: {},
  start:
    ({ path }) =>
    async (_, texts) =>
      simulateAnswer(await readInto(texts, path), referencedInto(texts)),
});

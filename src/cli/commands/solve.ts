import { defineCommand } from '../command';

export const solveCommand = defineCommand({
  takes: 'FILE',
  description: 'the optimal slicing of a raw problem (batch, tokens, unit, stages, cost)',
  options: {},
  notes: `A problem of solve is JSON: batch, tokens, unit, stages and cost, which is a formula
({"fixed": ms, "perToken": ms, "tile", "perTokenSquared", "perContext",
"perTokenContext"}) or a table. It may also hold
  minimumTokens       fewest tokens in a slice
  multiples           numbers that slices are multiples of, as [64, 8]
  stageFactors        how much longer than cost each stage takes, one number a stage
  maximumInFlight     most slices in flight; a larger batch runs in rounds
  oneScheme           true: all chunks of the batch are cut alike
  forwardOnly         true: cost is of the forward only (prefill)
  tolerance           gap to the bound at which to stop, as 0.001 (0: only when proved)`,
  start:
    ({ path }) =>
    async (terminal, texts) => {
      const { runSolve } = await import('../answers/solve');
      const { solvedAnswer, incumbentLine } = await import('../answers/solve-text');
      const { readInto } = await import('../read-config');
      const { file, text } = await readInto(texts, path);
      return solvedAnswer(runSolve(text, file, terminal.clock, incumbentLine(terminal), terminal.signal));
    },
});

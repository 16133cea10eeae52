import type { ScheduleProblem, Unmet } from './kind';
import { counted, sentence } from '../sentence';

/**
 * How interleaved schedules walk through chunks: a round takes `perRound` micro-batches through every chunk of a stage before the next
 * round starts.
 * Megatron-LM wants `perRound` to be the number of stages; here, as in PyTorch (torch 2.14), it is what is left when as many whole rounds
 * as fit are made.
 */
interface Rounds {
  readonly perRound: number;
  /** Passes of one kind on each stage. */
  readonly passes: number;
  /** The chunk and micro-batch of the `index`-th forward of a stage. */
  readonly forward: (stage: number, index: number) => { readonly chunk: number; readonly microBatch: number };
  /** The same of the `index`-th backward: from the last chunk to the first. */
  readonly backward: (stage: number, index: number) => { readonly chunk: number; readonly microBatch: number };
}

/** The rounds of a problem that has no `unmetRounds`. */
export function scheduleRounds({
  stages,
  microBatches,
  chunksPerStage,
}: Pick<ScheduleProblem, 'stages' | 'microBatches' | 'chunksPerStage'>): Rounds {
  const perRound = microBatches / roundCount(stages, microBatches);
  const inRound = perRound * chunksPerStage;
  const pass = (stage: number, index: number, localChunk: number) => ({
    chunk: localChunk * stages + stage,
    microBatch: Math.floor(index / inRound) * perRound + (index % perRound),
  });
  const localChunk = (index: number) => Math.floor(index / perRound) % chunksPerStage;
  return {
    perRound,
    passes: microBatches * chunksPerStage,
    forward: (stage, index) => pass(stage, index, localChunk(index)),
    backward: (stage, index) => pass(stage, index, chunksPerStage - 1 - localChunk(index)),
  };
}

/** Forwards of a stage before its first backward: those of all chunks but the last, and `perHop` for each stage behind it. */
export function warmUpPasses(
  { perRound, passes }: Rounds,
  { stages, chunksPerStage }: Pick<ScheduleProblem, 'stages' | 'chunksPerStage'>,
  stage: number,
  perHop: number,
): number {
  return Math.min((chunksPerStage - 1) * perRound + perHop * (stages - 1 - stage), passes);
}

/** Why micro-batches do not come out even over rounds, with the nearest numbers that do. */
export function unmetRounds({ stages, microBatches }: ScheduleProblem): Unmet | null {
  if (fits(stages, microBatches)) return null;
  let below = microBatches;
  let above = microBatches;
  while (!fits(stages, below)) below -= 1;
  while (!fits(stages, above)) above += 1;
  return {
    message: sentence`${counted(microBatches, 'micro-batch', 'micro-batches')} on ${counted(stages, 'stage')} do not divide into ${counted(roundCount(stages, microBatches), 'equal round')}`,
    remedy: sentence`use ${below} or ${above} micro-batches`,
  };
}

function fits(stages: number, microBatches: number): boolean {
  return microBatches % roundCount(stages, microBatches) === 0;
}

function roundCount(stages: number, microBatches: number): number {
  return Math.max(1, Math.floor(microBatches / stages));
}

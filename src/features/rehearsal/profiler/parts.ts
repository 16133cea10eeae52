import type { Tensor } from 'onnxruntime-node';
import type { WorkUnit } from '../../../core/schedules/schedule';
import type { StepPass } from '../../../profiler/graph/slice-graph';
import type { StepPart, StepSessions } from './step-sessions';
import type { Bag, SharedTensors } from './tensors';

/** Runs layers and ends of the model, whose weights it has and whose gradients it sums. */
export interface PartRunner {
  /**
   * Runs one pass of a part. Operands are taken from the bag, else they are weights of `owner` and the sums of their gradients.
   * @param owner whose weights: `layer 3`, `embedding`, `head`.
   */
  readonly run: (part: StepPart, pass: StepPass, owner: string, unit: WorkUnit, bag: Bag) => Promise<Bag>;
  /** Sums so far, by owner and weight. */
  readonly gradients: () => ReadonlyMap<string, Float32Array>;
  readonly reset: () => void;
}

/** @param lossTokens tokens of the step. */
export function createPartRunner(
  sessions: StepSessions,
  shared: SharedTensors,
  weights: (owner: string, kind: string, dims: readonly number[]) => Tensor,
  lossTokens: number,
): PartRunner {
  let gradients = new Map<string, Tensor>();
  const tokens = shared.integers([lossTokens]);
  return {
    async run(part, pass, owner, unit, bag) {
      const session = sessions.of(part, pass);
      const feeds: Record<string, Tensor> = { ...shared.sizes(unit), lossTokens: tokens };
      for (const name of session.operands) {
        const tensor = bag.get(name);
        if (tensor === undefined) throw new Error(`${owner} lacks ${name} for its ${pass} pass`);
        feeds[name] = tensor;
      }
      for (const { name, dims } of session.weights) feeds[name] = weights(owner, name, dims);
      for (const { name, dims } of session.sums) feeds[`main.${name}`] = gradients.get(`${owner} ${name}`) ?? shared.zeros(dims);
      const results = new Map(Object.entries(await session.run(feeds)));
      for (const { name } of session.sums) {
        const sum = results.get(`d.${name}`);
        if (sum !== undefined) gradients.set(`${owner} ${name}`, sum);
        results.delete(`d.${name}`);
      }
      return results;
    },
    gradients: () => new Map([...gradients].map(([name, { data }]) => [name, data as Float32Array])),
    reset() {
      gradients = new Map();
    },
  };
}

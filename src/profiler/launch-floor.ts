import type { LaunchFloor, ProviderName } from '../core/domain/profile';
import type { PlacedOperator } from '../protocol/profiler';
import { chainWidth, type launchChain } from './graph/launch-chain';
import { reportedNames } from './providers';
import { openSession, type Runtime } from './sessions';

/** Lengths of the two chains whose difference counts, and how often each runs. */
const [few, many] = [1, 201];
const runs = 20;
const cell = { batch: 1, tokens: chainWidth, context: 0 };

/** Operators that launch as a product does: through a library that first chooses a kernel. */
const products = /MatMul|Gemm|Attention/;

/** What launches, as `openSession` takes it. */
interface Launcher {
  readonly runtime: Runtime;
  readonly provider: ProviderName;
  readonly threads: number | null;
  readonly chain: typeof launchChain;
}

/**
 * What launching the nodes of a layer takes on a provider: the least times of chains of nodes that do nothing, and how many nodes it runs
 * for a slice in addition to those that cut the operands.
 *
 * @param layer where the nodes of the layer ran.
 * @param cuts the same of the graphs that only make its operands, whose time is subtracted.
 * @throws Error of ONNX Runtime.
 */
export async function measureLaunches(
  { runtime, provider, threads, chain }: Launcher,
  layer: readonly PlacedOperator[],
  cuts: readonly PlacedOperator[],
): Promise<LaunchFloor> {
  const leastMs = async (operator: 'Add' | 'MatMul', nodes: number): Promise<number> => {
    const session = await openSession(runtime, chain(operator, nodes), provider, threads);
    let least = Infinity;
    for (let run = 0; run < runs; run++) least = Math.min(least, (await session.run(cell)).ms);
    await session.release();
    return least;
  };
  const nodeMs = async (operator: 'Add' | 'MatMul'): Promise<number> =>
    Math.max(0, ((await leastMs(operator, many)) - (await leastMs(operator, few))) / (many - few));
  const [perNodeMs, perProductMs] = [await nodeMs('Add'), await nodeMs('MatMul')];
  const floorMs = (direction: PlacedOperator['direction']): number => {
    const own = [...counts(layer, 1), ...counts(cuts, -1)].filter((one) => one.direction === direction);
    const ofProvider = own.filter((one) => one.provider === reportedNames[provider]);
    return Math.max(
      0,
      ofProvider.reduce((ms, { operator, nodes }) => ms + nodes * (products.test(operator) ? perProductMs : perNodeMs), 0),
    );
  };
  return {
    perNodeUs: 1000 * perNodeMs,
    perProductUs: 1000 * perProductMs,
    forwardMs: floorMs('forward'),
    backwardMs: floorMs('backward'),
  };
}

function counts(placed: readonly PlacedOperator[], sign: 1 | -1): PlacedOperator[] {
  return placed.map((one) => ({ ...one, nodes: sign * one.nodes }));
}

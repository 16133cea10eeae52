import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { ProviderName } from '../../../core/domain/profile';
import type { ProfilerJob } from '../../../protocol/profiler';
import type { AttentionOperator } from '../../../profiler/graph/emit';
import type { GraphInput } from '../../../profiler/graph/onnx';
import { stepGraph, type StepGraph, type StepPass } from '../../../profiler/graph/slice-graph';
import { sessionOptions, type Runtime } from '../../../profiler/sessions';
import type { Results } from './tensors';

export type StepPart = 'layer' | 'embedding' | 'head';

interface NamedDims {
  readonly name: string;
  readonly dims: readonly number[];
}

/** A graph of a part and pass, open. */
interface StepSession {
  /** Inputs that differ from slice to slice, except for the sizes and `lossTokens`. */
  readonly operands: readonly string[];
  readonly weights: readonly NamedDims[];
  /** Weights whose gradients it adds to: inputs `main.WEIGHT`, outputs `d.WEIGHT`. */
  readonly sums: readonly NamedDims[];
  /** Of a forward pass: what it gives that backward passes take. */
  readonly saves: readonly string[];
  readonly run: (feeds: Readonly<Record<string, Tensor>>) => Promise<Results>;
}

/** Sessions of a step by part and pass. The embedding has only `forward`. */
export interface StepSessions {
  readonly of: (part: StepPart, pass: StepPass) => StepSession;
  readonly release: () => Promise<void>;
}

const passes = ['forward', 'backward', 'backwardInput', 'backwardWeight'] as const;

/** What a forward pass sends, in addition to what it saves. */
const handedOn = ['y', 'loss', 'presentKey', 'presentValue'];

/**
 * Opens what a step runs. All operands are inputs: one session of a layer serves all layers.
 * @param split whether backward is, at least in places. @param forwardOnly nothing is saved for it. @throws Error of ONNX Runtime.
 */
export async function openStepSessions(
  runtime: Runtime,
  provider: ProviderName,
  job: ProfilerJob,
  attention: AttentionOperator,
  { parts, split, forwardOnly }: { readonly parts: readonly StepPart[]; readonly split: boolean; readonly forwardOnly: boolean },
): Promise<StepSessions> {
  const opened = new Map<string, StepSession>();
  const sessions: InferenceSession[] = [];
  for (const part of parts) {
    const wanted = passes.filter((pass) => pass === 'forward' || (!forwardOnly && part !== 'embedding' && (split || pass === 'backward')));
    const graphs = new Map(wanted.map((pass) => [pass, stepGraph(job, attention, part, pass)]));
    const taken = new Set([...graphs].flatMap(([pass, { inputs }]) => (pass === 'forward' ? [] : inputs.map(({ name }) => name))));
    for (const [pass, graph] of graphs) {
      const session = await runtime.InferenceSession.create(graph.bytes, sessionOptions(provider, job.threads));
      sessions.push(session);
      opened.set(`${part} ${pass}`, stepSession(session, graph, pass === 'forward' ? taken : null));
    }
  }
  return {
    of(part, pass) {
      const found = opened.get(`${part} ${pass}`);
      if (found === undefined) throw new Error(`no session of ${part} ${pass}`);
      return found;
    },
    release: async () => {
      await Promise.all(sessions.map((session) => session.release()));
    },
  };
}

/** @param taken what backward passes take; null: all outputs are wanted. */
function stepSession(session: InferenceSession, { inputs, outputs }: StepGraph, taken: ReadonlySet<string> | null): StepSession {
  const numbered = inputs.flatMap((input) => (isWeight(input) ? [{ name: input.name, dims: input.extents.map(Number) }] : []));
  const isSum = ({ name }: NamedDims): boolean => name.startsWith('main.');
  const saves = taken === null ? [] : outputs.filter((name) => taken.has(name) && !handedOn.includes(name));
  const fetches = taken === null ? outputs : [...outputs.filter((name) => handedOn.includes(name)), ...saves];
  return {
    operands: inputs.filter((input) => !isWeight(input) && input.name !== 'lossTokens').map(({ name }) => name),
    weights: numbered.filter((input) => !isSum(input)),
    sums: numbered.filter(isSum).map(({ name, dims }) => ({ name: name.slice('main.'.length), dims })),
    saves,
    run: (feeds) => session.run(feeds, fetches),
  };
}

/** Weights, and sums of their gradients, are the inputs of fixed extents. */
function isWeight({ type, extents }: GraphInput): boolean {
  return type !== 'int64' && extents.every((extent) => typeof extent === 'number');
}

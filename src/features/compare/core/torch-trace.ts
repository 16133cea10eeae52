import { isRecord } from '../../../core/records';
import { lowMedian } from '../../../core/numbers';

/** What a trace of the PyTorch runtime (`train.py --trace`) has in addition to its passes. */
export interface TorchTrace {
  /** Peak memory of each pipeline rank, the fullest of its ranks, bytes; null where no rank gives it. */
  readonly peakBytes: readonly (number | null)[];
  /** How it was measured, as the trace has it. */
  readonly counted: string;
  /** What follows the passes, medians over the steps, ms; null where the trace has no such events. */
  readonly exchangeMs: number | null;
  readonly optimizerMs: number | null;
}

interface NamedEvent {
  readonly name?: unknown;
  readonly cat?: unknown;
  readonly args?: unknown;
}

/** Ranks that a trace may name: more are a mistake. */
const mostRanks = 100_000;

/** Collects it: `hear` each complete event with its length in ms, `member` the trace's `otherData`. */
export function makeTorchTraceReader() {
  /** By name and step, the shortest and the longest of all ranks, ms. */
  const lengths = new Map<string, Map<number, { readonly least: number; readonly most: number }>>();
  let other: Readonly<Record<string, unknown>> | null = null;
  const medianLength = (name: string, which: 'least' | 'most'): number | null => {
    const steps = [...(lengths.get(name)?.values() ?? [])].map((step) => step[which]);
    return steps.length === 0 ? null : lowMedian(steps);
  };
  return {
    hear: ({ name, cat, args }: NamedEvent, ms: number): void => {
      if (typeof name !== 'string' || (cat !== 'reduce' && cat !== 'optimizer')) return;
      const step = isRecord(args) && typeof args['step'] === 'number' ? args['step'] : 0;
      const steps = lengths.get(name) ?? new Map<number, { readonly least: number; readonly most: number }>();
      const known = steps.get(step) ?? { least: Infinity, most: 0 };
      lengths.set(name, steps.set(step, { least: Math.min(known.least, ms), most: Math.max(known.most, ms) }));
    },
    member: (value: unknown): void => {
      if (isRecord(value) && value['kind'] === 'terapipe-torch-trace') other = value;
    },
    end: (): TorchTrace | null => {
      if (other === null) return null;
      // a rank that comes first to a reduction waits in it for the others
      const [norm, step] = [medianLength('norm', 'least'), medianLength('optimizer', 'most')];
      return {
        peakBytes: peaks(other['memory']),
        counted: typeof other['memoryCounted'] === 'string' ? other['memoryCounted'] : '',
        exchangeMs: medianLength('reduce', 'least'),
        optimizerMs: step === null ? null : step + (norm ?? 0),
      };
    },
  };
}

function peaks(memory: unknown): (number | null)[] {
  const found: (number | null)[] = [];
  for (const rank of Array.isArray(memory) ? memory : []) {
    if (!isRecord(rank)) continue;
    const { pp, peakBytes } = rank;
    if (typeof pp !== 'number' || !Number.isInteger(pp) || pp < 0 || pp >= mostRanks || typeof peakBytes !== 'number') continue;
    while (found.length <= pp) found.push(null);
    found[pp] = Math.max(found[pp] ?? 0, peakBytes);
  }
  return found;
}

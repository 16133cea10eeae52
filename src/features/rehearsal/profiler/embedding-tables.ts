import type { Tensor } from 'onnxruntime-node';
import type { WorkUnit } from '../../../core/schedules/schedule';
import type { RehearsedStep } from '../protocol';
import { sequenceTokens } from './parameters';

/** Gradients of the token and position tables, which grow row by row where they are. */
export interface EmbeddingTables {
  /** Adds the gradient of a unit's embedded tokens, [batch * tokens, hidden]. @param first index in the batch of its first sequence. */
  readonly add: (unit: WorkUnit, first: number, dx: Tensor) => void;
  readonly gradients: () => ReadonlyMap<string, Float32Array>;
  readonly reset: () => void;
}

export function embeddingTables({ job, tokens }: RehearsedStep): EmbeddingTables {
  const { hidden, vocab, learnedPositions } = job.shape;
  const tables = new Map<string, Float32Array>();
  const table = (name: string, rows: number): Float32Array => {
    const made = tables.get(name) ?? new Float32Array(rows * hidden);
    tables.set(name, made);
    return made;
  };
  return {
    add(unit, first, dx) {
      const values = dx.data as Float32Array;
      const ofTokens = table('embedding tokenTable', vocab);
      const ofPositions = learnedPositions ? table('embedding positionTable', job.limits.sequence) : null;
      for (let sequence = 0; sequence < unit.batch; sequence++) {
        const ids = sequenceTokens(first + sequence, tokens, vocab);
        for (let token = 0; token < unit.tokens; token++) {
          const row = values.subarray((sequence * unit.tokens + token) * hidden, (sequence * unit.tokens + token + 1) * hidden);
          addRow(ofTokens, (ids[unit.context + token] ?? 0) * hidden, row);
          if (ofPositions !== null) addRow(ofPositions, (unit.context + token) * hidden, row);
        }
      }
    },
    gradients: () => tables,
    reset: () => {
      tables.clear();
    },
  };
}

function addRow(sum: Float32Array, at: number, row: Float32Array): void {
  for (let i = 0; i < row.length; i++) sum[at + i] = (sum[at + i] ?? 0) + (row[i] ?? 0);
}

import * as v from 'valibot';
import { ExpectedError } from '../../../errors';
import { sum } from '../../../numbers';
import { sentence } from '../../../sentence';
import type { Scheme } from '../../../domain/scheme';

const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const entry = v.object({
  model_name: v.string(),
  batch_size: count,
  model_parallel_size: count,
  pipeline_length: count,
  data_parallel_size: count,
  n_nodes: count,
  gpus_per_node: count,
  latency: v.pipe(v.number(), v.minValue(0)),
  batch_slices: v.pipe(v.array(count), v.minLength(1)),
  input_slices: v.pipe(v.array(count), v.minLength(1)),
});

/**
 * One setting, as `latency_model.py` writes it (1a17aa26, lines 233 to 254): sizes, the step in s, sequences of each chunk of a replica's
 * batch, and tokens of each slice, which all chunks share.
 */
export type DpResult = v.InferOutput<typeof entry>;

/** The entries of a `dp_results.json`. @throws ExpectedError `dp-results-invalid` for what TeraPipe would not run. */
export function readDpResults(text: string): readonly DpResult[] {
  const entries = v.safeParse(v.array(entry), parsed(text));
  const broken = entries.success ? entries.output.find(({ batch_size: batch, batch_slices: chunks }) => sum(chunks) !== batch) : undefined;
  if (entries.success && broken === undefined) return entries.output;
  throw new ExpectedError(
    'dp-results-invalid',
    entries.success
      ? sentence`The chunks of a dp_results.json do not make up its batch`
      : sentence`This is not a dp_results.json: ${entries.issues[0].message}`,
    sentence`write it with terapipe export --to dp-results`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** How an entry cuts the batch of a replica. */
export function schemeOfEntry({ batch_slices: chunks, input_slices: tokens }: DpResult): Scheme {
  return chunks.map((batch) => ({ batch, tokens }));
}

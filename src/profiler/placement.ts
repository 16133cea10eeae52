import * as v from 'valibot';
import type { ProfilePart } from '../core/domain/profile';
import type { PlacedOperator } from '../protocol/profiler';

/**
 * Operators whose work grows with the widths whatever tensor they see. The rest is heavy when it makes floats by the row, and not when it
 * computes shapes.
 */
const workers = /MatMul|Gemm|Attention|Softmax|Norm|Gelu|Erf$|RotaryEmbedding|Einsum/i;

const floats = new Set(['float', 'float16', 'bfloat16', 'double']);

const tensors = v.array(v.record(v.string(), v.array(v.number())));
const nodeEvent = v.looseObject({
  cat: v.literal('Node'),
  name: v.pipe(v.string(), v.endsWith('_kernel_time')),
  args: v.looseObject({ op_name: v.string(), provider: v.string(), output_type_shape: v.optional(tensors, []) }),
});

/**
 * Reads the file that ONNX Runtime 1.30 writes with `enableProfiling`: nodes by operator and provider.
 *
 * @param rowElements elements of a float tensor from which any operator counts as heavy.
 * @throws Error when `json` is not such a file.
 */
export function placedOperators(
  json: string,
  part: ProfilePart,
  direction: PlacedOperator['direction'],
  rowElements: number,
): PlacedOperator[] {
  const events = v.parse(v.array(v.unknown()), JSON.parse(json));
  const placed = new Map<string, PlacedOperator & { nodes: number }>();
  for (const event of events) {
    if (!v.is(nodeEvent, event)) continue;
    const { op_name: operator, provider, output_type_shape: outputs = [] } = event.args;
    const heavy = workers.test(operator) || outputs.some((output) => floatElements(output) >= rowElements);
    const key = `${operator} ${provider} ${heavy}`;
    const before = placed.get(key);
    if (before === undefined) placed.set(key, { part, direction, operator, provider, nodes: 1, heavy });
    else before.nodes += 1;
  }
  return [...placed.values()];
}

function floatElements(tensor: Readonly<Record<string, readonly number[]>>): number {
  const [type = '', extents = []] = Object.entries(tensor)[0] ?? [];
  return floats.has(type) ? extents.reduce((product, extent) => product * extent, 1) : 0;
}

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LayerShape } from '../../../../src/core/domain/profile';
import { checkedGraph } from '../../../../src/profiler/graph/slice-graph';
import { type Operand, range, referencePass } from './reference';
import {
  assertClose,
  type Cell,
  expertRows,
  gpt,
  inputsOf,
  jobOf,
  llama,
  madeUp,
  openSession,
  random,
  relativeError,
  runSession,
  sizesOf,
  variants,
} from './run-graph';

describe('slices through the caches', () => {
  for (const { title, shape, attention, batch } of variants()) {
    it(`add up to the whole sequence, forward and backward: ${title}`, async () => {
      const lengths = sliceLengths(shape);
      const whole = { batch, tokens: lengths.reduce((sum, tokens) => sum + tokens, 0), context: 0 };
      const operands = wholeOperands(shape, whole);
      const expected = referencePass(shape, operands, whole.batch, whole.tokens, whole.context);
      const forward = { graph: checkedGraph(jobOf(shape), attention, 'layer', 'forward'), outputs: [] as Map<string, Operand>[] };
      const backward = checkedGraph(jobOf(shape), attention, 'layer', 'backward');
      const sessions = [await openSession(forward.graph), await openSession(backward)] as const;
      const slices = lengths.map((tokens, i) => ({ batch, tokens, context: lengths.slice(0, i).reduce((sum, n) => sum + n, 0) }));

      let past: readonly [Operand, Operand] = [operands.get('pastKey')!, operands.get('pastValue')!];
      for (const cell of slices) {
        const given = sliceOperands(operands, cell, whole).set('pastKey', past[0]).set('pastValue', past[1]);
        const outputs = await runSession(sessions[0], forward.graph, given, cell);
        past = [outputs.get('presentKey')!, outputs.get('presentValue')!];
        forward.outputs.push(new Map([...given, ...outputs]));
      }
      assertClose(join(forward.outputs, 'y', whole, slices), expected.y, 1e-4, 'y');
      assertClose(past[0].data, expected.presentKey, 1e-4, 'keys');

      // Each slice, last first, adds to the gradients of the weights and of the keys and values before it.
      const sums = new Map<string, Operand>([...operands].filter(([name]) => name.startsWith('main.')));
      const toKeys = { Key: zeros(past[0]), Value: zeros(past[1]) };
      for (const name of ['Key', 'Value'] as const) addRows(toKeys[name], operands.get(`d${name}In`)!, 0);
      const results: Map<string, Operand>[] = [];
      for (const [i, cell] of [...slices.entries()].toReversed()) {
        const given = new Map([...forward.outputs[i]!, ...sums]);
        for (const name of ['Key', 'Value'] as const) given.set(`d${name}In`, cutRows(toKeys[name], cell.context, cell.tokens));
        const outputs = await runSession(sessions[1], backward, given, cell, { extents: { expertRows: expertRows(shape, cell) } });
        for (const name of ['Key', 'Value'] as const) addRows(toKeys[name], outputs.get(`dPast${name}`)!, 0);
        for (const [name, value] of outputs) if (name.startsWith('d.')) sums.set(`main.${name.slice(2)}`, value);
        results.unshift(outputs);
      }
      assertClose(join(results, 'dx', whole, slices), expected.gradients.get('dx')!, 1e-4, 'dx');
      for (const [name, gradient] of expected.gradients) {
        if (name.startsWith('d.')) assertClose(sums.get(`main.${name.slice(2)}`)!.data, gradient, 1e-4, name);
      }
      await Promise.all(sessions.map((session) => session.release()));
    });
  }

  it('differ from the whole sequence when the cache is dropped', async () => {
    for (const { shape, attention } of variants().filter(({ batch }) => batch === 2)) {
      const cell = { batch: 2, tokens: 4, context: 6 };
      const { y, withoutCache } = await withAndWithoutCache(shape, attention, cell);
      assert.ok(relativeError(withoutCache, y) > 1e-2);
    }
  });

  it('are refused or differ when the positions start elsewhere', async () => {
    for (const attention of ['MultiHeadAttention', 'plain'] as const) {
      const shape = llama({ kvHeads: 4 });
      const cell = { batch: 2, tokens: 4, context: 6 };
      const graph = checkedGraph(jobOf(shape), attention, 'layer', 'forward');
      const session = await openSession(graph);
      const operands = new Map<string, Operand>();
      const right = await runSession(session, graph, operands, cell);
      const wrong = runSession(session, graph, operands, { ...cell, context: 5 }, { extents: { context: 6 } });
      if (attention === 'plain') await assert.rejects(wrong);
      else assert.ok(relativeError((await wrong).get('y')!.data, right.get('y')!.data) > 1e-2);
      await session.release();
    }
  });

  it('see no token after them', async () => {
    for (const { shape, attention, batch } of variants().filter(({ shape: { experts } }) => experts === null)) {
      const graph = checkedGraph(jobOf(shape), attention, 'layer', 'forward');
      const session = await openSession(graph);
      const cell = { batch, tokens: 4, context: 3 };
      const operands = new Map<string, Operand>();
      const before = await runSession(session, graph, operands, cell);
      const x = operands.get('x')!;
      const changed = range(x.data.length).map((i) => x.data[i]! + (Math.floor(i / shape.hidden) % cell.tokens === 3 ? 1 : 0));
      const after = await runSession(session, graph, new Map([...operands, ['x', { ...x, data: changed }]]), cell);
      const early = (y: Operand) => Array.from(y.data).filter((_, i) => Math.floor(i / shape.hidden) % cell.tokens < 3);
      assertClose(early(after.get('y')!), early(before.get('y')!), 1e-6, 'earlier tokens');
      assert.ok(relativeError(after.get('y')!.data, before.get('y')!.data) > 1e-2);
      await session.release();
    }
  });
});

describe('the share of tensor-parallel ranks', () => {
  it('is a layer of fewer heads', () => {
    const cell = { batch: 1, tokens: 2, context: 0 };
    const inputs = inputsOf(checkedGraph(jobOf(gpt({ heads: 2, kvHeads: 2, ffn: 24 })), 'plain', 'layer', 'forward'), sizesOf(cell));
    const dims = Object.fromEntries(inputs.map((input) => [input.name, input.dims]));
    assert.deepEqual(
      [dims['qkv'], dims['output'], dims['up'], dims['down']],
      [
        [32, 48],
        [16, 32],
        [32, 24],
        [24, 32],
      ],
    );
  });
});

/** 5 + 7 + 4 tokens; multiples of the number of experts where there are any, so that slices keep each token's experts. */
function sliceLengths({ experts }: LayerShape): readonly number[] {
  return experts === null ? [5, 7, 4] : [experts.count, 2 * experts.count, experts.count];
}

function wholeOperands(shape: LayerShape, cell: Cell): Map<string, Operand> {
  const operands = new Map<string, Operand>();
  const extents = { ...sizesOf(cell), expertRows: 1 };
  for (const direction of ['forward', 'backward'] as const) {
    for (const { name, dims } of inputsOf(checkedGraph(jobOf(shape), 'plain', 'layer', direction), extents)) {
      if (!operands.has(name)) operands.set(name, madeUp(name, dims, random(operands.size + 1)));
    }
  }
  return operands;
}

/** Weights as they are, rows of x and dy cut to the slice. */
function sliceOperands(operands: ReadonlyMap<string, Operand>, cell: Cell, whole: Cell): Map<string, Operand> {
  const kept = [...operands].filter(([name]) => /^(qkv|output|up|gate|down|router|norm\d|queryNorm|keyNorm)(Bias)?$/.test(name));
  const cut = (name: string) => {
    const { dims, data } = operands.get(name)!;
    const cols = dims[1]!;
    const bySequence = { dims: [cell.batch, 1, whole.tokens, cols], data };
    return { dims: [cell.batch * cell.tokens, cols], data: cutRows(bySequence, cell.context, cell.tokens).data };
  };
  return new Map([...kept, ['x', cut('x')], ['dy', cut('dy')]]);
}

/** Rows of all slices in the order of the whole sequences. */
function join(results: readonly ReadonlyMap<string, Operand>[], name: string, whole: Cell, slices: readonly Cell[]): Float64Array {
  const cols = results[0]!.get(name)!.dims[1]!;
  const sum = { dims: [whole.batch, 1, whole.tokens, cols], data: new Float64Array(whole.batch * whole.tokens * cols) };
  for (const [i, { tokens, context }] of slices.entries()) {
    addRows(sum, { dims: [whole.batch, 1, tokens, cols], data: results[i]!.get(name)!.data }, context);
  }
  return sum.data;
}

function cutRows({ dims, data }: Operand, start: number, count: number): Operand {
  const [batch, heads, rows, cols] = dims as [number, number, number, number];
  const blocks = range(batch * heads).flatMap((block) =>
    Array.from(data).slice((block * rows + start) * cols, (block * rows + start + count) * cols),
  );
  return { dims: [batch, heads, count, cols], data: blocks };
}

/** Adds [batch, heads, tokens, width] to rows `start` on of `sum`. */
function addRows(sum: { readonly dims: readonly number[]; readonly data: Float64Array }, { dims, data }: Operand, start: number): void {
  const [batch, heads, rows, cols] = dims as [number, number, number, number];
  for (const block of range(batch * heads)) {
    for (const i of range(rows * cols)) sum.data[(block * sum.dims[2]! + start) * cols + i]! += data[block * rows * cols + i]!;
  }
}

function zeros({ dims, data }: Operand): { readonly dims: readonly number[]; readonly data: Float64Array } {
  return { dims, data: new Float64Array(data.length) };
}

async function withAndWithoutCache(shape: LayerShape, attention: Parameters<typeof checkedGraph>[1], cell: Cell) {
  const graph = checkedGraph(jobOf(shape), attention, 'layer', 'forward');
  const session = await openSession(graph);
  const operands = new Map<string, Operand>();
  const y = (await runSession(session, graph, operands, cell)).get('y')!.data;
  const empty = { dims: [cell.batch, shape.kvHeads, 0, shape.headDim], data: [] };
  const dropped = new Map([...operands, ['pastKey', empty], ['pastValue', empty]] as const);
  const withoutCache = (await runSession(session, graph, dropped, { ...cell, context: 0 })).get('y')!.data;
  await session.release();
  return { y, withoutCache };
}

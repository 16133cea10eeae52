import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LayerShape } from '../../../../src/core/domain/profile';
import { checkedGraph } from '../../../../src/profiler/graph/slice-graph';
import { norm, type Operand, range, referenceLayer, softmax, weightsOn } from './reference';
import { assertClose, expertRows, gpt, jobOf, llama, random, run, shapes } from './run-graph';
import { createTape } from './tape';

const cell = { batch: 2, tokens: 5, context: 3 };
const rows = cell.batch * cell.tokens;

function integers(name: string, below: number): [string, Operand] {
  const next = random(below);
  return [name, { dims: [rows], data: range(rows).map(() => Math.floor(((next() + 1) / 2) * below)) }];
}

describe('slice graph of the embedding', () => {
  for (const shape of [gpt(), llama()]) {
    it(`looks up tokens${shape.learnedPositions ? ' and adds positions after the context' : ''}`, async () => {
      const operands = new Map([integers('ids', shape.vocab)]);
      const outputs = await run(checkedGraph(jobOf(shape), 'plain', 'embedding', 'forward'), operands, cell);
      const at = (name: string, row: number, col: number) => operands.get(name)!.data[row * shape.hidden + col]!;
      const expected = range(rows).flatMap((row) =>
        range(shape.hidden).map((col) => {
          const position = shape.learnedPositions ? at('positionTable', cell.context + (row % cell.tokens), col) : 0;
          return at('tokenTable', operands.get('ids')!.data[row]!, col) + position;
        }),
      );
      assertClose(outputs.get('y')!.data, expected, 1e-6, 'y');
    });

    it(`adds each token's gradient to its row${shape.learnedPositions ? " and to its position's" : ''}`, async () => {
      const operands = new Map([integers('compactRows', rows)]);
      const outputs = await run(checkedGraph(jobOf(shape), 'plain', 'embedding', 'backward'), operands, cell);
      const { data: index } = operands.get('compactRows')!;
      assert.ok(new Set(Array.from(index)).size < rows, 'some rows are hit twice');
      const dy = operands.get('dy')!.data;
      const tokens = Float64Array.from(operands.get('main.tokenTable')!.data);
      const positions = shape.learnedPositions ? Float64Array.from(operands.get('main.positionTable')!.data) : null;
      for (const row of range(rows)) {
        for (const col of range(shape.hidden)) {
          tokens[index[row]! * shape.hidden + col]! += dy[row * shape.hidden + col]!;
          if (positions !== null) positions[(row % cell.tokens) * shape.hidden + col]! += dy[row * shape.hidden + col]!;
        }
      }
      assertClose(outputs.get('d.tokenTable')!.data, tokens, 1e-6, 'd.tokenTable');
      if (positions !== null) assertClose(outputs.get('d.positionTable')!.data, positions, 1e-6, 'd.positionTable');
      assert.equal(outputs.size, positions === null ? 1 : 2);
    });
  }
});

describe('slice graph of the head', () => {
  for (const shape of [gpt(), llama()]) {
    it(`computes the mean cross-entropy and its gradients after ${shape.norm}`, async () => {
      const operands = new Map([integers('labels', shape.vocab)]);
      const forward = await run(checkedGraph(jobOf(shape), 'plain', 'head', 'forward'), operands, cell, { seed: 3 });
      const saved = new Map([...operands, ...forward]);
      const backward = await run(checkedGraph(jobOf(shape), 'plain', 'head', 'backward'), saved, cell, { seed: 4 });
      const expected = referenceHead(shape, saved);

      assertClose(forward.get('loss')!.data, [expected.loss], 1e-5, 'loss');
      assert.deepEqual([...backward.keys()].sort(), [...expected.gradients.keys()].sort());
      for (const [name, gradient] of expected.gradients) assertClose(backward.get(name)!.data, gradient, 1e-4, name);
    });
  }
});

describe('slice graphs of the ends', () => {
  for (const gradAccumulationFp32 of [true, false]) {
    it(`compute nearly the same in fp16, gradients in ${gradAccumulationFp32 ? 'fp32' : 'fp16'}`, async () => {
      const narrow = jobOf(gpt(), { precision: 'fp16', gradAccumulationFp32 });
      const operands = new Map([integers('ids', 50), integers('labels', 50), integers('compactRows', rows)]);
      for (const part of ['embedding', 'head'] as const) {
        for (const direction of ['forward', 'backward'] as const) {
          const expected = await run(checkedGraph(jobOf(gpt()), 'plain', part, direction), operands, cell);
          const actual = await run(checkedGraph(narrow, 'plain', part, direction), operands, cell);
          for (const [name, { data }] of expected) assertClose(actual.get(name)!.data, data, 0.02, `${part} ${direction} ${name}`);
          for (const [name, operand] of expected) operands.set(name, operand);
        }
      }
    });
  }
});

describe('slice graph of two layers', () => {
  for (const title of ['GPT', 'Llama-like', 'mixture of gated experts']) {
    it(`is one layer after the other, forward and backward: ${title}`, async () => {
      const shape = shapes[title]!;
      const operands = new Map<string, Operand>();
      const extents = { expertRows: expertRows(shape, cell) };
      const forward = await run(checkedGraph(jobOf(shape), 'plain', 'layers2', 'forward'), operands, cell, { seed: 5 });
      const saved = new Map([...operands, ...forward]);
      const backward = await run(checkedGraph(jobOf(shape), 'plain', 'layers2', 'backward'), saved, cell, { seed: 6, extents });
      const expected = referenceTwoLayers(shape, saved);
      assertClose(forward.get('y')!.data, expected.y, 1e-4, 'y');
      assert.deepEqual([...backward.keys()].sort(), [...expected.gradients.keys()].sort());
      for (const [name, gradient] of expected.gradients) assertClose(backward.get(name)!.data, gradient, 1e-4, name);
    });
  }
});

function referenceHead(shape: LayerShape, operands: ReadonlyMap<string, Operand>): { loss: number; gradients: Map<string, Float64Array> } {
  const tape = createTape();
  const weights = weightsOn(tape, operands, '');
  const x = tape.leaf(rows, shape.hidden, operands.get('x')!.data);
  const logits = tape.matmul(norm(weights, shape.norm, x, 'finalNorm'), weights.matrix('head'));
  const losses = range(rows).map((row) => {
    const p = softmax(
      tape,
      tape.select([logits], 1, shape.vocab, (_r, c) => [0, row, c]),
    );
    const ofLabel = tape.select([p], 1, 1, () => [0, 0, operands.get('labels')!.data[row]!]);
    return tape.map(
      ofLabel,
      (v) => -Math.log(v) / rows,
      (v) => -1 / v / rows,
    );
  });
  tape.backward(losses.map((loss) => [loss, [1]] as const));
  const gradients = new Map(withMain(weights.gradients(), operands, ''));
  return { loss: losses.reduce((sum, loss) => sum + loss.values[0]!, 0), gradients: gradients.set('dx', x.gradient) };
}

function referenceTwoLayers(
  shape: LayerShape,
  operands: ReadonlyMap<string, Operand>,
): { y: number[]; gradients: Map<string, ArrayLike<number>> } {
  const tape = createTape();
  const parts = (name: string, height: number, width: number) => {
    const data = Array.from(operands.get(name)!.data);
    return range(data.length / (height * width)).map((i) =>
      tape.leaf(height, width, data.slice(i * height * width, (i + 1) * height * width)),
    );
  };
  const byHead = (name: string, height: number) => {
    const all = parts(name, height, shape.headDim);
    return range(cell.batch).map((b) => all.slice(b * shape.kvHeads, (b + 1) * shape.kvHeads));
  };
  const layers = ['', 'second.'].map((prefix) => ({
    prefix,
    weights: weightsOn(tape, operands, prefix),
    key: byHead(`${prefix}pastKey`, cell.context),
    value: byHead(`${prefix}pastValue`, cell.context),
  }));
  const x = parts('x', cell.tokens, shape.hidden);
  let y = x;
  const seeds = layers.flatMap(({ prefix, weights, key, value }) => {
    const layer = referenceLayer(weights, shape, y, key, value);
    y = layer.y;
    const seed = (name: string, own: typeof key) =>
      byHead(prefix + name, cell.tokens).flatMap((heads, b) => heads.map((m, h) => [own[b]![h]!, m.values] as const));
    return [...seed('dKeyIn', layer.key), ...seed('dValueIn', layer.value)];
  });
  tape.backward([...seeds, ...parts('dy', cell.tokens, shape.hidden).map((dy, b) => [y[b]!, dy.values] as const)]);
  const flatten = (all: typeof x) => all.flatMap((m) => Array.from(m.gradient));
  const gradients = new Map<string, ArrayLike<number>>([['dx', flatten(x)]]);
  for (const { prefix, weights, key, value } of layers) {
    for (const [name, gradient] of withMain(weights.gradients(), operands, prefix)) gradients.set(name, gradient);
    gradients.set(`${prefix}dPastKey`, flatten(key.flat())).set(`${prefix}dPastValue`, flatten(value.flat()));
  }
  return { y: y.flatMap((m) => Array.from(m.values)), gradients };
}

function withMain(
  gradients: ReadonlyMap<string, Float64Array>,
  operands: ReadonlyMap<string, Operand>,
  prefix: string,
): [string, Float64Array][] {
  return [...gradients].map(([name, gradient]) => {
    const main = operands.get(`main.${prefix}${name}`)!.data;
    return [`${prefix}d.${name}`, gradient.map((g, i) => g + main[i]!)];
  });
}

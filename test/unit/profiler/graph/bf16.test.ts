import assert from 'node:assert/strict';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, it } from 'mocha';
import { type GraphProto, ModelProtoSchema, TensorProto_DataType as DataType } from 'onnx-buf';
import { attentionOperators } from '../../../../src/profiler/graph/attention';
import { timedGraph, timedInputsGraph } from '../../../../src/profiler/graph/slice-graph';
import { jobOf, shapes } from './run-graph';

/** Operators whose kernel in CUDA takes bfloat16, at opsets 21 and 23: `OperatorKernels.md` of microsoft/onnxruntime at 001d12d2. */
const cudaHasBf16 = new Set(
  (
    'Add Attention Cast Concat Div Erf Exp Expand Gather GatherElements Gelu Gemm GroupQueryAttention Identity LayerNormalization MatMul Max Min Mod Mul ' +
    'MultiHeadAttention Neg ReduceSum Reshape RotaryEmbedding ScatterElements ScatterND Shape Sigmoid SimplifiedLayerNormalization Slice Softmax Split Sqrt ' +
    'Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze Where'
  ).split(' '),
);

describe('timed graphs in bf16', () => {
  for (const [title, shape] of Object.entries(shapes)) {
    it(`need no operator that CUDA lacks in bfloat16, and give no bfloat16 to Node.js: ${title}`, () => {
      for (const attention of ['plain', 'fused'] as const) {
        const job = jobOf(shape, { precision: 'bf16', attention });
        for (const operator of attentionOperators(job))
          for (const part of ['layer', 'layers2', 'embedding', 'head'] as const)
            for (const direction of ['forward', 'backward'] as const)
              for (const write of [timedGraph, timedInputsGraph]) {
                const { graph } = fromBinary(ModelProtoSchema, write(job, operator, part, direction).bytes);
                assert.ok(graph !== undefined);
                assert.deepEqual(
                  bf16Operators(graph).filter((name) => !cudaHasBf16.has(name)),
                  [],
                  `${operator} ${part} ${direction}`,
                );
                assert.deepEqual(
                  graph.output.filter(({ type }) => elementType(type) === DataType.BFLOAT16).map(({ name }) => name),
                  [],
                );
              }
      }
    });
  }

  it('have bfloat16 in their products', () => {
    const job = jobOf(shapes['Llama-like']!, { precision: 'bf16' });
    const { graph } = fromBinary(ModelProtoSchema, timedGraph(job, 'plain', 'layer', 'backward').bytes);
    assert.ok(graph !== undefined && ['MatMul', 'Gemm', 'ReduceSum'].every((name) => bf16Operators(graph).includes(name)));
  });
});

/** Operators that take or give a bfloat16, by following the types from the inputs. */
function bf16Operators(graph: GraphProto): string[] {
  const types = new Map<string, number | undefined>([['', undefined]]);
  for (const { name, dataType } of graph.initializer) types.set(name, dataType);
  for (const { name, type } of graph.input) types.set(name, elementType(type));
  const found = new Set<string>();
  for (const { opType, input, output, attribute } of graph.node) {
    for (const name of input) assert.ok(types.has(name), `${opType} takes ${name} before it is made`);
    const given = input.map((name) => types.get(name));
    const to = attribute.find(({ name }) => name === 'to')?.i;
    const result = resultType(opType, given, to === undefined ? undefined : Number(to));
    for (const [at, name] of output.entries()) types.set(name, opType === 'TopK' && at === 1 ? DataType.INT64 : result);
    if (given.includes(DataType.BFLOAT16) || result === DataType.BFLOAT16) found.add(opType);
  }
  return [...found];
}

function resultType(operator: string, given: readonly (number | undefined)[], to: number | undefined): number | undefined {
  switch (operator) {
    case 'Cast':
      return to;
    case 'Shape':
      return DataType.INT64;
    case 'ConstantOfShape':
      return DataType.FLOAT;
    case 'Less':
    case 'LessOrEqual':
      return DataType.BOOL;
    case 'Where':
      return given[1];
    default:
      return given[0];
  }
}

function elementType(type: GraphProto['input'][number]['type']): number | undefined {
  return type?.value.case === 'tensorType' ? type.value.value.elemType : undefined;
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, it } from 'mocha';
import { type GraphProto, type ModelProto, ModelProtoSchema, type NodeProto, TensorProto_DataType as DataType } from 'onnx-buf';
import * as ort from 'onnxruntime-node';
import type { Precision } from '../../../../src/core/domain/cluster';
import type { ProviderName } from '../../../../src/core/domain/profile';
import { attentionOperators } from '../../../../src/profiler/graph/attention';
import type { AttentionOperator } from '../../../../src/profiler/graph/emit';
import { stepGraph, timedGraph, timedInputsGraph } from '../../../../src/profiler/graph/slice-graph';
import { golden } from '../../../golden/data';
import { jobOf, shapes } from './run-graph';

/** By operator, by range of versions (`13+`, `21-22`, `23`, `any`): the types that a kernel takes, with spaces between them, or `any`. */
type Kernels = Readonly<Record<string, Readonly<Record<string, string>>>>;

const table = golden('onnxruntime-kernels') as {
  readonly release: string;
  /** The version of each operator at opset 21 and 23; null where it does not exist yet. */
  readonly since: Readonly<Record<string, Readonly<Record<'21' | '23', number | null>>>>;
  readonly kernels: Readonly<Record<ProviderName, Kernels>>;
};

const precisions = ['fp32', 'fp16', 'bf16'] as const satisfies Precision[];
const gpuProviders = ['cuda', 'dml', 'coreml', 'webgpu'] as const;
const root = path.resolve(import.meta.dirname, '../../../..');

describe('kernels that graphs need', () => {
  it('are those of the release of ONNX Runtime that is installed', () => {
    const { dependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };
    assert.equal(table.release, dependencies['onnxruntime-node']);
    assert.equal(ort.env.versions.node, table.release);
  });

  const expected: Readonly<Record<(typeof gpuProviders)[number], Readonly<Record<Precision, string>>>> = {
    cuda: { fp32: '', fp16: '', bf16: '' },
    dml: { fp32: 'Gelu, ScatterElements, ScatterND', fp16: 'Gelu, ScatterElements, ScatterND', bf16: 'everything' },
    coreml: {
      fp32: 'Expand, GatherElements, LessOrEqual, Log, Neg, ScatterElements, ScatterND, SimplifiedLayerNormalization, TopK',
      fp16: 'Expand, GatherElements, LessOrEqual, Log, Neg, ScatterElements, ScatterND, SimplifiedLayerNormalization, TopK',
      bf16: 'everything',
    },
    webgpu: { fp32: '', fp16: '', bf16: 'everything' },
  };
  for (const provider of gpuProviders)
    for (const precision of precisions)
      it(`fall back to the CPU on ${provider} in ${precision} as docs/profiling.md has it: ${expected[provider][precision] || 'none'}`, () => {
        assert.equal(fallbacks(provider, precision), expected[provider][precision]);
      });

  it('are stated in docs/profiling.md', () => {
    const titles = { cuda: 'CUDA', dml: 'DirectML', coreml: 'CoreML', webgpu: 'WebGPU' };
    const docs = readFileSync(path.join(root, 'docs/profiling.md'), 'utf8');
    for (const provider of gpuProviders) {
      const cells = [titles[provider], ...precisions.map((precision) => fallbacks(provider, precision) || 'nothing')];
      assert.ok(
        docs.split('\n').some(
          (line) =>
            line
              .split('|')
              .map((cell) => cell.trim())
              .join('|') === `|${cells.join('|')}|`,
        ),
        cells.join(' | '),
      );
    }
  });

  it('exist on the CPU in fp32, and in bf16 not even for Add', () => {
    for (const operator of attentions) {
      const missing = graphs(operator, 'fp32').flatMap(({ model }) => lacking('cpu', model));
      assert.deepEqual([...new Set(missing)], [], operator);
    }
    assert.ok(graphs('plain', 'bf16').some(({ model }) => lacking('cpu', model).includes('Add')));
  });

  it('are found by ONNX Runtime where the table has them: it creates timed graphs on the CPU in fp32, and none of a layer in bf16', async () => {
    for (const { model, bytes, title } of graphs('plain', 'fp32').filter((graph) =>
      /^(GPT|Llama-like|mixture of experts),/.test(graph.title),
    )) {
      assert.deepEqual(lacking('cpu', model), [], title);
      const session = await ort.InferenceSession.create(bytes, { logSeverityLevel: 4, intraOpNumThreads: 1 });
      await session.release();
    }
    const [layer] = graphs('plain', 'bf16');
    assert.ok(layer !== undefined);
    const create = ort.InferenceSession.create(layer.bytes, { logSeverityLevel: 4 });
    await assert.rejects(create, (error: Error) => {
      const named = /Could not find an implementation for (\w+)/.exec(error.message)?.[1] ?? '';
      return lacking('cpu', layer.model).includes(named);
    });
  });

  it('exist for the attention that each provider is given first', () => {
    const taken = (provider: ProviderName, precision: Precision) =>
      attentions.filter((operator) =>
        graphs(operator, precision).every(({ model }) => !lacking(provider, model).some((name) => name === operator)),
      );
    assert.deepEqual(taken('cuda', 'fp32'), ['plain', 'MultiHeadAttention', 'Attention']);
    assert.deepEqual(taken('cuda', 'bf16'), ['plain', 'MultiHeadAttention', 'GroupQueryAttention', 'Attention']);
    assert.deepEqual(taken('dml', 'fp16'), ['plain', 'MultiHeadAttention', 'GroupQueryAttention']);
    assert.deepEqual(taken('webgpu', 'fp16'), ['plain', 'MultiHeadAttention', 'GroupQueryAttention']);
    assert.deepEqual(taken('coreml', 'fp16'), ['plain']);
  });

  it('exist for every operator of a rehearsal on the GPU that a plan may use, in fp32', () => {
    const job = jobOf(shapes['GPT']!);
    for (const part of ['layer', 'head'] as const)
      for (const pass of ['forward', 'backward', 'backwardInput', 'backwardWeight'] as const)
        for (const shape of Object.values(shapes)) {
          const model = read(stepGraph({ ...job, shape }, 'plain', part, pass).bytes);
          // An Identity hands on what came from the host and goes back to it.
          for (const provider of ['cpu', 'cuda', 'webgpu'] as const) {
            const missing = lacking(provider, model).filter((name) => name !== 'Identity');
            assert.deepEqual(missing, [], `${provider} ${part} ${pass}`);
          }
        }
  });

  it('give no bfloat16 to Node.js, and have bfloat16 in their products', () => {
    for (const { model, title } of attentions.flatMap((operator) => graphs(operator, 'bf16')))
      for (const { name, type } of requireGraph(model).output) assert.notEqual(elementType(type), DataType.BFLOAT16, `${title}: ${name}`);
    const job = jobOf(shapes['Llama-like']!, { precision: 'bf16' });
    const used = typedNodes(read(timedGraph(job, 'plain', 'layer', 'backward').bytes)).filter(({ type }) => type === 'bf16');
    for (const operator of ['MatMul', 'Gemm', 'ReduceSum'])
      assert.ok(
        used.some(({ name }) => name === operator),
        operator,
      );
  });

  it('are not found for a version that the table has no row for', () => {
    assert.equal(hasKernel('webgpu', 'Cos', 'fp32', 21), true);
    // Measured: at opset 23, where Cos is of version 22, ONNX Runtime 1.30.0 runs it on the CPU.
    assert.equal(hasKernel('webgpu', 'Cos', 'fp32', 23), false);
    assert.equal(hasKernel('cuda', 'ReduceMean', 'bf16', 21), false);
  });
});

const attentions = ['plain', 'MultiHeadAttention', 'GroupQueryAttention', 'Attention'] as const satisfies AttentionOperator[];

interface Timed {
  readonly title: string;
  readonly bytes: Uint8Array;
  readonly model: ModelProto;
}

const known = new Map<string, readonly Timed[]>();

/** Every graph that is timed with `operator`: all shapes, parts and directions, and those of their inputs. */
function graphs(operator: AttentionOperator, precision: Precision): readonly Timed[] {
  const key = `${operator} ${precision}`;
  const made = known.get(key) ?? buildGraphs(operator, precision);
  known.set(key, made);
  return made;
}

function buildGraphs(operator: AttentionOperator, precision: Precision): readonly Timed[] {
  return Object.entries(shapes).flatMap(([title, shape]) => {
    const job = jobOf(shape, {
      precision,
      attention: operator === 'plain' ? 'plain' : 'fused',
      limits: { batch: operator === 'GroupQueryAttention' ? 1 : 2, tokens: 16, sequence: 32 },
    });
    if (!attentionOperators(job).includes(operator)) return [];
    return (['layer', 'layers2', 'embedding', 'head'] as const).flatMap((part) =>
      (['forward', 'backward'] as const).flatMap((direction) =>
        [timedGraph, timedInputsGraph].map((write) => {
          const { bytes } = write(job, operator, part, direction);
          return { title: `${title}, ${operator} attention, ${part} ${direction}`, bytes, model: read(bytes) };
        }),
      ),
    );
  });
}

/** Names of the operators of the graphs with plain attention that a provider leaves to the CPU. */
function fallbacks(provider: ProviderName, precision: Precision): string {
  const fused = attentions.filter((operator) => operator !== 'plain' && providesAttention(provider, operator, precision));
  const all = (['plain', ...fused] as const).flatMap((operator) =>
    graphs(operator, precision).map(({ model }) => lacking(provider, model)),
  );
  const names = [...new Set(all.flat())].map((name) => name.replace('com.microsoft:', '')).sort();
  return names.includes('MatMul') && names.includes('Add') ? 'everything' : names.join(', ');
}

function providesAttention(provider: ProviderName, operator: AttentionOperator, precision: Precision): boolean {
  return hasKernel(
    provider,
    operator === 'Attention' ? operator : `com.microsoft:${operator}`,
    precision,
    operator === 'Attention' ? 23 : 21,
  );
}

/** Operators on floating-point tensors in the graph that a provider has no kernel for. */
function lacking(provider: ProviderName, model: ModelProto): string[] {
  const opset = Number(model.opsetImport.find(({ domain }) => domain === '')?.version) as 21 | 23;
  const missing = typedNodes(model).filter(({ name, type }) => !hasKernel(provider, name, type, opset));
  return [...new Set(missing.map(({ name }) => name.replace('com.microsoft:', '')))];
}

/**
 * Whether a kernel takes the version that the operator has at the opset: ONNX Runtime takes `13+` only for version 13 itself
 * (KernelRegistry::VerifyKernelDef), so that a kernel serves later versions only once somebody has looked at them.
 */
function hasKernel(provider: ProviderName, name: string, type: string, opset: 21 | 23): boolean {
  const since = table.since[name]?.[opset];
  assert.ok(since !== undefined, `${name} is not in the table`);
  return Object.entries(table.kernels[provider][name] ?? {}).some(([range, types]) => {
    const [from, to] = range.split('-');
    const covers =
      range === 'any' || (range.endsWith('+') ? parseInt(range) === since : Number(from) <= since! && since! <= Number(to ?? from));
    return covers && (types === 'any' || types.split(' ').includes(type));
  });
}

const floats: Readonly<Record<number, Precision>> = { [DataType.FLOAT]: 'fp32', [DataType.FLOAT16]: 'fp16', [DataType.BFLOAT16]: 'bf16' };

/**
 * Operators that run on each slice and take or give floating-point tensors, with the type of the tensor that their kernel is chosen by:
 * without what ONNX Runtime computes when it creates the session, and the sizes of the slice, which stay on the CPU.
 */
function typedNodes(model: ModelProto): { readonly name: string; readonly type: Precision }[] {
  const graph = requireGraph(model);
  const types = new Map<string, number | undefined>([['', undefined]]);
  for (const { name, dataType } of graph.initializer) types.set(name, dataType);
  for (const { name, type } of graph.input) types.set(name, elementType(type));
  const constant = new Set(['', ...graph.initializer.map(({ name }) => name)]);
  return graph.node.flatMap((node) => {
    for (const name of node.input) assert.ok(types.has(name), `${node.opType} takes ${name} before it is made`);
    const given = node.input.map((name) => types.get(name));
    const result = resultType(node, given);
    for (const [at, name] of node.output.entries()) types.set(name, node.opType === 'TopK' && at === 1 ? DataType.INT64 : result);
    if (node.input.every((name) => constant.has(name))) {
      for (const name of node.output) constant.add(name);
      return [];
    }
    if (node.opType === 'ConstantOfShape' || node.opType === 'Shape') return [];
    const name = node.domain === '' ? node.opType : `${node.domain}:${node.opType}`;
    // Cast has a type of its own on each side.
    const chosenBy = node.opType === 'Cast' ? [given[0], result] : [node.opType === 'Where' ? given[1] : given[0]];
    return chosenBy.flatMap((type) => (type !== undefined && type in floats ? [{ name, type: floats[type]! }] : []));
  });
}

function resultType({ opType, attribute }: NodeProto, given: readonly (number | undefined)[]): number | undefined {
  switch (opType) {
    case 'Cast':
      return Number(attribute.find(({ name }) => name === 'to')?.i);
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

function read(bytes: Uint8Array): ModelProto {
  return fromBinary(ModelProtoSchema, bytes);
}

function requireGraph({ graph }: ModelProto): GraphProto {
  assert.ok(graph !== undefined);
  return graph;
}

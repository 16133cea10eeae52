import { clearField, create, toBinary } from '@bufbuild/protobuf';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import {
  AttributeProto_AttributeType as AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  TensorProtoSchema,
  type ModelProto,
} from 'onnx-buf';
import { CancelledError, ExpectedError } from '../../../../src/core/errors';
import { modelOfOnnx } from './whole-model';
import { readOnnxStructure, readStructure } from '../../../../src/profiler/onnx-file/read-structure';
import type { ByteSource } from '../../../../src/profiler/onnx-file/byte-source';
import { gpt2, llama, packedLlama } from './models';
import { say } from '../../../../src/core/sentence';

/** Bytes in memory that count what is read of them, and may come in dribs. */
function counted(bytes: Uint8Array, atMost = Infinity) {
  const counter = { read: 0 };
  const source: ByteSource = {
    size: bytes.length,
    read: (offset, length) => {
      const piece = bytes.subarray(offset, offset + Math.min(length, atMost));
      counter.read += piece.length;
      return Promise.resolve(piece);
    },
  };
  return { source, counter };
}

/** A model without what reading leaves out: weights over 4 kB. */
function withoutWeights(model: ModelProto): ModelProto {
  for (const tensor of model.graph?.initializer ?? [])
    if (tensor.rawData.length > 4096) clearField(tensor, TensorProtoSchema.field.rawData);
  return model;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) + (rest < 128 ? 0 : 128));
    if (rest < 128) return bytes;
  }
}

function field(number: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.from([...varint(8 * number + 2), ...varint(content.length)]), content]);
}

const graphField = 7;

/**
 * A GPT-2 after a weight of `bytes` bytes: the bytes before the weight, those after, and how many there are with it. The graph comes in two
 * parts, which are merged.
 */
function withHole(bytes: number) {
  const initializer = toBinary(TensorProtoSchema, create(TensorProtoSchema, { name: 'huge', dims: [BigInt(bytes / 4)], dataType: 1 }));
  const rawHeader = [...varint(8 * 9 + 2), ...varint(bytes)];
  const tensorBytes = initializer.length + rawHeader.length + bytes;
  const tensorHeader = [...varint(8 * 5 + 2), ...varint(tensorBytes)];
  const graphHeader = [...varint(8 * graphField + 2), ...varint(tensorHeader.length + tensorBytes)];
  const start = Uint8Array.from([...graphHeader, ...tensorHeader, ...initializer, ...rawHeader]);
  const end = gpt2().bytes();
  return { start, end, size: start.length + bytes + end.length };
}

describe('readOnnxStructure', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'terapipe-onnx-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });
  const written = async (name: string, bytes: Uint8Array | string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, bytes);
    return file;
  };
  const failure = async (file: string): Promise<ExpectedError> => {
    const error: unknown = await readOnnxStructure(file).then(
      () => assert.fail(`${file} was read`),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof ExpectedError, String(error));
    assert.deepEqual(error.place, { file, range: { start: 0, end: 0 } });
    assert.notEqual(say(error.remedy), '');
    return error;
  };

  for (const [name, build] of Object.entries({ gpt2, llama, packedLlama }))
    it(`keeps everything of ${name} but its weights`, async () => {
      const model = await readOnnxStructure(await written(`${name}.onnx`, build().bytes()));
      assert.deepEqual(model, withoutWeights(build().model()));
    });

  it('reads the same whatever pieces the file comes in', async () => {
    const bytes = gpt2().bytes();
    for (const atMost of [1, 13, 1000]) {
      const model = await readStructure(counted(bytes, atMost).source, 'dribs.onnx');
      assert.deepEqual(model, withoutWeights(gpt2().model()), `pieces of ${atMost}`);
    }
  });

  it('reads past weights without reading them', async () => {
    const bytes = gpt2({ hidden: 256, ffn: 1024, vocab: 20_000, style: 'linear' }).bytes();
    const { source, counter } = counted(bytes);
    const { model } = modelOfOnnx(await readStructure(source, 'large.onnx'), 'large.onnx');
    assert.equal(model.vocab, 20_000);
    assert.ok(bytes.length > 25e6 && counter.read < 0.08 * bytes.length, `${counter.read} of ${bytes.length} bytes were read`);
  });

  it('reads a model file of 300 MB on disk only by its structure', async () => {
    const { start, end, size } = withHole(300e6);
    const file = await written('huge.onnx', start);
    const handle = await open(file, 'r+');
    await handle.truncate(size);
    await handle.write(end, 0, end.length, size - end.length);
    await handle.close();
    const before = process.memoryUsage().rss;
    const model = await readOnnxStructure(file);
    assert.equal(model.graph?.initializer[0]?.name, 'huge');
    assert.deepEqual(modelOfOnnx(model, file).model, modelOfOnnx(gpt2().model(), file).model);
    assert.ok(process.memoryUsage().rss - before < 150e6, 'memory grew');
  });

  it('counts in files of many GB', async () => {
    const { start, end, size } = withHole(70e9);
    let read = 0;
    const source: ByteSource = {
      size,
      read: (offset, length) => {
        read += length;
        const piece = new Uint8Array(Math.min(length, size - offset));
        if (offset < start.length) piece.set(start.subarray(offset, offset + length));
        for (let index = Math.max(0, size - end.length - offset); index < piece.length; index += 1)
          piece[index] = end[offset + index - size + end.length] ?? 0;
        return Promise.resolve(piece);
      },
    };
    assert.equal((await readStructure(source, 'huge.onnx')).graph?.initializer[0]?.name, 'huge');
    assert.ok(read < end.length + 1e6, `${read} bytes were read`);
  });

  it('leaves out weights and long constants wherever they are, and keeps short ones', async () => {
    const constant = (values: number) => {
      const t = create(TensorProtoSchema, { dims: [BigInt(values)], dataType: 7, int64Data: Array.from({ length: values }, () => 5n) });
      const attribute = [create(AttributeProtoSchema, { name: 'value', type: AttributeType.TENSOR, t })];
      return create(NodeProtoSchema, { opType: 'Constant', output: [`c${values}`], docString: 'x'.repeat(100_000), attribute });
    };
    const branch = create(GraphProtoSchema, { node: [constant(4), constant(5000)] });
    const attribute = [create(AttributeProtoSchema, { name: 'then_branch', type: AttributeType.GRAPH, g: branch })];
    const graph = create(GraphProtoSchema, { node: [create(NodeProtoSchema, { opType: 'If', attribute })] });
    const model = await readStructure(counted(toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph }))).source, 'x.onnx');
    const nodes = model.graph?.node[0]?.attribute[0]?.g?.node ?? [];
    assert.deepEqual(
      nodes.map((node) => [node.docString.length, node.attribute[0]?.t?.int64Data.length]),
      [
        [0, 4],
        [0, 0],
      ],
    );
  });

  it('never reads beyond the end, whatever byte of a model is changed or where it ends', async () => {
    const bytes = gpt2({ layers: 1, hidden: 8, ffn: 8, vocab: 9, positions: 4, heads: 2 }).bytes();
    let refused = 0;
    for (let index = 0; index < bytes.length; index += 31) {
      const damaged = Uint8Array.from(bytes);
      damaged[index] = (damaged[index] ?? 0) ^ (1 + (index % 255));
      for (const hostile of [damaged, bytes.subarray(0, index)])
        await readStructure(counted(hostile).source, 'hostile.onnx').then(
          (model) => {
            try {
              modelOfOnnx(model, 'hostile.onnx');
            } catch (error) {
              if (!(error instanceof ExpectedError)) throw error;
            }
          },
          (error: unknown) => {
            if (!(error instanceof ExpectedError)) throw error;
            refused += 1;
          },
        );
    }
    assert.ok(refused > bytes.length / 62, `${refused} refused`);
  });

  it('shows what a file is that is not a model', async () => {
    const code = async (name: string, content: Uint8Array | string) => {
      const error = await failure(await written(name, content));
      return [error.code, error.message.replace(/ \(byte.*/, '')];
    };
    assert.deepEqual(await code('empty.onnx', ''), ['onnx-syntax', 'empty.onnx is empty']);
    assert.match((await code('text.onnx', 'hello, this is a text\n'.repeat(9))).join(' '), /^onnx-syntax text\.onnx is not an ONNX model/);
    assert.match((await code('zip.onnx', 'PK\u0003\u0004rest')).join(' '), /^onnx-syntax zip\.onnx is a zip archive/);
    assert.match((await code('lfs.onnx', 'version https://git-lfs.github.com/spec/v1\noid')).join(' '), /Git LFS/);
    assert.match((await code('short.onnx', gpt2().bytes().subarray(0, 5000))).join(' '), /^onnx-syntax short\.onnx .* runs past the end/);
    assert.match((await code('nograph.onnx', Uint8Array.of(8, 8))).join(' '), /holds no graph/);
    assert.match((await code('wire.onnx', Uint8Array.of(8 * graphField, 1))).join(' '), /field 7 has wire type 0/);
    assert.match((await code('group.onnx', Uint8Array.of(3, 4))).join(' '), /wire type 3/);
  });

  it('explains why a file cannot be read', async () => {
    const messages = async (file: string) => (await failure(file)).message;
    assert.equal((await failure(folder)).code, 'onnx-unreadable');
    assert.match(await messages(folder), /is a folder$/);
    assert.match(await messages(path.join(folder, 'nothing.onnx')), /does not exist$/);
    if (process.platform === 'win32') return;
    const pipe = path.join(folder, 'pipe.onnx');
    execFileSync('mkfifo', [pipe]);
    assert.match(await messages(pipe), /is not a regular file$/);
  });

  it('refuses models of too many nodes, of too many bytes, and graphs in graphs without end', async () => {
    const nodes = new Uint8Array(2 * 400_001).fill(0);
    for (let index = 0; index < nodes.length; index += 2) nodes[index] = 10;
    assert.equal((await failure(await written('nodes.onnx', field(graphField, nodes)))).code, 'onnx-too-large');
    const name = new TextEncoder().encode('n'.repeat(60_000));
    const inputs = Array.from({ length: 600 }, () => field(1, name));
    const node = field(1, Buffer.concat(inputs));
    assert.equal((await failure(await written('names.onnx', field(graphField, node)))).code, 'onnx-too-large');
    let nested: Uint8Array = new Uint8Array(0);
    for (let depth = 0; depth < 200; depth += 1) nested = field(1, field(5, field(6, nested)));
    const bomb = await failure(await written('bomb.onnx', field(graphField, nested)));
    assert.equal(bomb.code, 'onnx-syntax');
    assert.match(bomb.message, /nested too deeply/);
  });

  it('stops between two pieces when it is cancelled', async () => {
    const { source } = counted(gpt2({ layers: 8, vocab: 9000 }).bytes());
    const abort = new AbortController();
    let reads = 0;
    const slow: ByteSource = {
      size: source.size,
      read: (offset, length) => {
        reads += 1;
        if (reads === 3) abort.abort();
        return source.read(offset, length);
      },
    };
    await assert.rejects(readStructure(slow, 'x.onnx', abort.signal), CancelledError);
    assert.equal(reads, 3);
    await assert.rejects(readOnnxStructure(path.join(folder, 'nothing.onnx'), abort.signal), CancelledError);
  });
});

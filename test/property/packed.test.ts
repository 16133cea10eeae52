import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { makeUnpacker, packedParts, transferredBuffer } from '../../src/protocol/packed';
import { packMessage } from './packed-whole';

const column = fc.oneof(
  fc.uint8Array({ maxLength: 9 }),
  fc.uint32Array({ maxLength: 5 }),
  fc.int32Array({ maxLength: 5 }),
  fc.float64Array({ maxLength: 4 }),
  // A view of a part of a larger buffer, as plans hold them.
  fc.float64Array({ minLength: 2, maxLength: 6 }).map((all) => all.subarray(1)),
);

/** What a message may hold: plain data, hostile keys included, with columns and numbers that JSON does not know. */
const { message } = fc.letrec((tie) => ({
  message: fc.oneof({ maxDepth: 4 }, fc.string(), fc.double(), fc.boolean(), fc.constant(null), column, tie('list'), tie('object')),
  list: fc.array(tie('message'), { maxLength: 5 }),
  object: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'packed', 'type')), tie('message'), {
    maxKeys: 5,
    noNullPrototype: true,
  }),
}));

/** What VS Code does between the extension host and a page: JSON, and the buffers by themselves. */
function travelled({ buffer, ...rest }: ReturnType<typeof packMessage>): ReturnType<typeof packMessage> {
  return { ...(JSON.parse(JSON.stringify(rest)) as typeof rest), buffer: structuredClone(buffer) };
}

function unpackMessage(value: unknown): unknown {
  return makeUnpacker()(value);
}

/** -0 travels as 0 in JSON. */
function withoutNegativeZero(value: unknown): unknown {
  if (value === 0) return 0;
  if (ArrayBuffer.isView(value) || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutNegativeZero(each)]));
}

describe('a packed message', () => {
  it('arrives as it was sent, whatever its columns', () => {
    fc.assert(
      fc.property(message, message, fc.array(fc.boolean(), { maxLength: 8 }), (one, other, order) => {
        const sent = [one, other, { again: order.map((isOne) => (isOne ? one : other)) }];
        const before = structuredClone(sent);
        assert.deepEqual(unpackMessage(travelled(packMessage(sent))), withoutNegativeZero(sent));
        assert.deepEqual(sent, before);
      }),
      { numRuns: 500 },
    );
  });

  it('holds its columns in one buffer, each where its elements may begin, and a shared one once', () => {
    const times = Float64Array.of(1.5, 2.5, 3.5).subarray(1);
    const sent = { kind: Uint8Array.of(7), times, none: new Float64Array(0), rows: Uint32Array.of(1, 2, 3), again: [times] };
    const { message, packed, buffer } = packMessage(sent);
    assert.deepEqual(message, { kind: null, times: null, none: null, rows: null, again: [null] });
    assert.deepEqual(
      packed.map(({ byteOffset }) => byteOffset),
      [0, 8, 24, 24, 8],
    );
    assert.equal(buffer.byteLength, 40);
    const arrived = unpackMessage(travelled(packMessage(sent))) as typeof sent;
    assert.deepEqual(arrived, sent);
    assert.equal(arrived.kind.buffer, arrived.rows.buffer);
  });

  it('writes out once what is in several places, which arrives as one again', () => {
    const chunk = { unitKinds: Uint8Array.of(1, 2), alike: [{ bytes: 1 }, { bytes: Infinity }] };
    const stages = Array.from({ length: 1000 }, () => chunk);
    const sent = { candidates: [{ stages }, { stages, last: chunk }, { stages: [chunk.alike, stages] }], apart: structuredClone(chunk) };
    const packed = packMessage(sent);
    assert.deepEqual(
      packed.packed.map(({ path }) => path.join('.')),
      ['candidates.0.stages.0.unitKinds', 'candidates.0.stages.0.alike.1.bytes', 'apart.unitKinds', 'apart.alike.1.bytes'],
    );
    assert.equal(JSON.stringify(packed.message).match(/alike/g)?.length, 2);
    const arrived = unpackMessage(travelled(packed)) as typeof sent;
    assert.deepEqual(arrived, sent);
    assert.equal(arrived.candidates[1]?.stages, arrived.candidates[0]?.stages);
    assert.notEqual(arrived.apart, arrived.candidates[0]?.stages[0]);
  });

  it('refuses an array of a type that it does not know', () => {
    assert.throws(() => packMessage({ values: new Float32Array(2) }), /a page gets no Float32Array/);
  });

  it('stores a long column in as few bytes as hold every number exactly', () => {
    const long = (value: number): Float64Array => new Float64Array(5000).fill(1).fill(value, 4999);
    const values = [255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 0.5, -0, -1, NaN, Infinity];
    const times = long(7);
    const sent = {
      times,
      again: times,
      columns: values.map(long),
      units: Uint32Array.from(long(300)),
      kind: Uint8Array.from(long(3)),
      to: Int32Array.from(long(-1)),
    };
    const packed = packMessage(sent);
    const bytesEach = [1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 8, 8, 2, 1, 8];
    assert.equal(packed.buffer.byteLength, 5000 * bytesEach.reduce((sum, bytes) => sum + bytes, 0));
    const arrived = unpackMessage(travelled(packed)) as typeof sent;
    assert.deepEqual(arrived, sent);
    assert.equal(arrived.times, arrived.again);
  });

  it('travels in small pieces where it is large, made one at a time', () => {
    const long = Float64Array.from({ length: 100_003 }, (_, index) => index + 0.5);
    const kind = Uint8Array.from({ length: 300_001 }, (_, index) => index % 251);
    const sent = { name: 'large', columns: [Uint32Array.of(1, 2, 3), long, kind, Uint32Array.from(long), long.subarray(7, 90_000)] };
    const unpacked = makeUnpacker();
    const arrived: unknown[] = [];
    let bytes = 0;
    for (const part of packedParts(sent)) {
      assert.ok(transferredBuffer(part).byteLength <= 2 ** 18);
      bytes += transferredBuffer(part).byteLength;
      arrived.push(unpacked(part.type === 'packed' ? travelled(part) : structuredClone(part)));
    }
    assert.equal(bytes, packMessage(sent).byteLength);
    assert.ok(arrived.length > 5);
    assert.deepEqual(arrived.pop(), sent);
    assert.deepEqual(new Set(arrived), new Set([null]));
    assert.deepEqual(unpacked(travelled(packMessage(sent))), sent);
  });

  it('gives way to one that begins before it has ended', () => {
    const [first, second] = [1, 2].map((value) => ({ column: new Float64Array(100_000).fill(value + 0.5) }));
    const [head, piece] = packedParts(first);
    const unpacked = makeUnpacker();
    assert.equal(unpacked(head), null);
    assert.equal(unpacked(piece), null);
    const arrived = [...packedParts(second)].map((part) => unpacked(part));
    assert.deepEqual(arrived.pop(), second);
    assert.equal(unpacked(piece), null);
  });

  it('is nothing else that is posted to a page', () => {
    for (const other of [null, 'packed', { type: 'packed' }, { type: 'state', state: {} }, []]) assert.equal(unpackMessage(other), null);
  });
});

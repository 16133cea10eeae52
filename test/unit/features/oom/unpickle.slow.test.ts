import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExpectedError } from '../../../../src/core/errors';
import { unpickle, type Pickled } from '../../../../src/features/oom/core/unpickle';
import { framed, op, pickled, text } from './pickles';

function plain(value: Pickled): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value.kind === 'list') return value.items.map(plain);
  const pairs: [string, unknown][] = [];
  for (let at = 0; at < value.items.length; at += 2) {
    const key = value.items[at];
    assert.ok(typeof key === 'string');
    pairs.push([key, plain(value.items[at + 1] ?? null)]);
  }
  return Object.fromEntries(pairs);
}

function refusal(bytes: Uint8Array): { readonly code: string; readonly message: string } {
  try {
    unpickle(bytes, 'hostile.pickle');
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    assert.equal(error.place?.file, 'hostile.pickle');
    return { code: error.code, message: error.message };
  }
  return assert.fail('was read');
}

describe('unpickle', () => {
  it('reads what is written', () => {
    const key = fc.string({ minLength: 1, maxLength: 8 }).filter((name) => name !== '__proto__');
    const leaf = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.boolean(), fc.constant(null), fc.string({ maxLength: 20 }));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const asRead = JSON.parse(JSON.stringify(value)) as unknown;
        assert.deepEqual(JSON.parse(JSON.stringify(plain(unpickle(pickled(value), 'a')))), asRead);
      }),
    );
  });

  it('refuses every opcode that makes a Python object, at its byte, and runs nothing', () => {
    const names = [
      [0x63, 'GLOBAL'],
      [0x93, 'STACK_GLOBAL'],
      [0x52, 'REDUCE'],
      [0x62, 'BUILD'],
      [0x69, 'INST'],
      [0x6f, 'OBJ'],
      [0x81, 'NEWOBJ'],
      [0x92, 'NEWOBJ_EX'],
      [0x50, 'PERSID'],
      [0x51, 'BINPERSID'],
      [0x82, 'EXT1'],
      [0x83, 'EXT2'],
      [0x84, 'EXT4'],
      [0x97, 'NEXT_BUFFER'],
    ] as const;
    for (const [code, name] of names) {
      const bytes = framed([...text('os'), ...text('system'), code, ...Buffer.from('posix\nsystem\n')]);
      const { code: error, message } = refusal(bytes);
      assert.equal(error, 'snapshot-unsafe', name);
      assert.match(message, new RegExp(`byte ${2 + 4 + 8}: .*\\(${name}\\)`));
    }
  });

  it('refuses a list that holds itself, directly or through another', () => {
    const direct = framed([0x5d, 0x94, ...op(0x68, 0), 0x61]);
    const through = framed([0x5d, 0x94, 0x5d, 0x94, ...op(0x68, 0), 0x61, 0x61]);
    const later = framed([0x5d, 0x94, 0x85, 0x94, ...op(0x68, 0), ...op(0x68, 1), 0x61, 0x86]);
    for (const bytes of [direct, through, later]) assert.equal(refusal(bytes).code, 'snapshot-unsafe');
  });

  it('shares what is in the memo', () => {
    assert.deepEqual(plain(unpickle(framed([0x5d, 0x94, 0x85, ...op(0x68, 0), 0x86]), 'a')), [[[]], []]);
  });

  it('refuses deep nesting, by marks and by tuples', () => {
    assert.equal(refusal(framed(Array.from({ length: 100_000 }, () => [0x5d, 0x28]).flat())).code, 'snapshot-unsafe');
    assert.equal(refusal(framed([0x5d, ...Array.from({ length: 100_000 }, () => 0x85)])).code, 'snapshot-unsafe');
  });

  it('refuses lengths beyond the file without taking memory for them', () => {
    const long = [0xff, 0xff, 0xff, 0xff];
    for (const bytes of [framed([0x58, ...long]), framed([0x8d, ...long, ...long]), framed([0x8c, 0xff]), framed([0x72, ...long])])
      assert.equal(refusal(bytes).code, 'snapshot-syntax');
    assert.equal(refusal(framed([0x4e, 0x72, ...long])).code, 'snapshot-syntax');
  });

  it('refuses more values than it may hold', () => {
    const many = new Uint8Array(8_000_010).fill(0x4e);
    many.set([0x80, 4]);
    assert.equal(refusal(many).code, 'snapshot-too-large');
    many.fill(0x94, 3);
    assert.equal(refusal(many).code, 'snapshot-too-large');
  });

  it('refuses any bytes with an error that it documents, or reads them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          unpickle(Uint8Array.from([0x80, 4, ...bytes]), 'a');
        } catch (error) {
          assert.ok(error instanceof ExpectedError, String(error));
        }
      }),
    );
  });
});

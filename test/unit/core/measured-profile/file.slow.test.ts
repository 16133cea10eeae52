import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import * as v from 'valibot';
import { ExpectedError } from '../../../../src/core/errors';
import { maximumProfileBytes, parseProfile, profileFileName, profileText } from '../../../../src/core/measured-profile/file';
import type { Profile } from '../../../../src/core/domain/profile';
import { profileSchema } from '../../../../src/core/measured-profile/schema';
import { profileWith } from './profiles';

const text = profileText(profileWith());

/** The error that `broken` gives and the text at its place. */
function refusal(broken: string): { readonly code: string; readonly message: string; readonly at: string } {
  try {
    parseProfile(broken, 'p.json');
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    assert.equal(error.place?.file, 'p.json');
    const { start, end } = error.place.range;
    assert.ok(start <= end && end <= broken.length);
    return { code: error.code, message: error.message, at: broken.slice(start, end) };
  }
  throw new Error('no error');
}

describe('profile file', () => {
  it('comes back as it was written, times to six digits', () => {
    const read = parseProfile(text, 'p.json');
    assert.equal(profileText(read), text);
    const relative = read.samples.layer.map(({ forwardMs }, i) => Math.abs(forwardMs / profileWith().samples.layer[i]!.forwardMs - 1));
    assert.ok(Math.max(...relative) < 1e-5);
    assert.equal(read.title, 'GPT-2 small');
  });

  it('has its keys in one order, whatever the order in memory, and ends its last line', () => {
    const reversed = Object.fromEntries(Object.entries(profileWith()).toReversed()) as unknown as Profile;
    assert.equal(profileText(reversed), text);
    assert.ok(text.startsWith('{\n  "version": 1,\n  "kind": "terapipe-profile",') && text.endsWith('}\n'));
  });

  it('is read with a byte order mark and with keys that nobody knows', () => {
    assert.equal(profileText(parseProfile(`\uFEFF${text}`, 'p.json')), text);
    assert.equal(profileText(parseProfile(text.replace('{', '{ "note": "mine",'), 'p.json')), text);
  });

  it('names what is not a profile', () => {
    assert.equal(refusal('').code, 'profile-syntax');
    assert.equal(refusal('  \n').code, 'profile-syntax');
    assert.equal(refusal(text.slice(0, 200)).code, 'profile-syntax');
    assert.equal(refusal('{"kind": "terapipe-profile", // why\n"version": 1}').code, 'profile-syntax');
    assert.equal(refusal('['.repeat(100_000)).code, 'profile-syntax');
    assert.equal(refusal(' '.repeat(maximumProfileBytes + 1)).code, 'profile-syntax');
    assert.deepEqual(refusal('{"kind": "chart"}'), {
      code: 'profile-invalid',
      message: 'This is not a profile: its "kind" is not "terapipe-profile"',
      at: '"chart"',
    });
    assert.equal(refusal('[1]').code, 'profile-invalid');
  });

  it('asks for an update when a newer TeraPipe wrote it', () => {
    const { code, at } = refusal(text.replace('"version": 1', '"version": 2'));
    assert.deepEqual([code, at], ['profile-version', '2']);
  });

  it('points at the value that no profile has', () => {
    const wrong = (from: string | RegExp, to: string): readonly string[] => {
      assert.notEqual(text.replace(from, to), text, String(from));
      const { message, at } = refusal(text.replace(from, to));
      return [message, at];
    };
    assert.deepEqual(wrong('"tensor": 1', '"tensor": 0.5'), ['"tensor" is 0.5, which no profile has', '0.5']);
    assert.equal(wrong('"precision": "fp16"', '"precision": "fp8"')[1], '"fp8"');
    const firstTime = /(?<="samples"[^]*?"forwardMs": )[\d.]+/;
    assert.match(wrong(firstTime, '-1')[0]!, /"samples\.layer\[0\]\.forwardMs" is -1/);
    assert.equal(wrong(firstTime, '1e999')[1], '1e999');
    assert.match(wrong('"perNodeUs": 4.3', '"perNodeUs": -1')[0]!, /"launches\.perNodeUs" is -1/);
    assert.deepEqual(wrong(/ {2}"title": .*\n/, ''), ['"title" is missing', '{']);
    assert.equal(wrong('2026-11-21T07:00:00.000Z', 'yesterday')[1], '"yesterday"');
    assert.match(wrong('"sequenceLength": 1024', '"sequenceLength": "1024"')[1]!, /"1024"/);
  });

  it('wants tables that ascend and have a time for each length', () => {
    const descending = refusal(text.replace(/("rows": \{\s+"tokens": \[\s+)64,\s+128,/, '$1128, 64,'));
    assert.deepEqual([descending.message, descending.at], ['Lengths of a table ascend, but 64 does not', '64']);
    const shorter = refusal(text.replace(/("rows": \{\s+"tokens": \[\s+)64,/, '$1'));
    assert.match(shorter.message, /^The table has \d+ lengths and \d+ times$/);
    assert.ok(shorter.at.startsWith('['));
  });

  it('refuses more samples than anybody measures', () => {
    const profile = profileWith();
    const many = Array.from({ length: 10_001 }, () => ({
      batch: 1,
      tokens: 1,
      context: 0,
      forwardMs: 1,
      backwardMs: 1,
      rounds: 1,
      holdOut: false,
    }));
    const { code } = refusal(JSON.stringify({ ...profile, samples: { ...profile.samples, layer: many } }));
    assert.equal(code, 'profile-invalid');
  });
});

describe('profile file name', () => {
  it('shows device, model and precision, and is safe in a path', () => {
    assert.match(profileFileName(profileWith()), /^nvidia-a100-sxm4-80gb-gpt-2-small-fp16-[0-9a-f]{8}\.json$/);
    const hostile = profileWith({
      title: '../../etc/passwd\u202e',
      device: { kind: 'cpu', name: '', memoryBytes: null, driver: null },
      tensor: 4,
    });
    assert.match(profileFileName(hostile), /^etc-passwd-tp4-fp16-[0-9a-f]{8}\.json$/);
  });

  it('is the same for the same measurement later, another for another shape or driver', () => {
    const name = profileFileName(profileWith());
    assert.equal(
      profileFileName(
        profileWith({ measuredAt: '2027-01-01T00:00:00Z', seconds: 1, warnings: [], samples: { layer: [], embedding: [], head: [] } }),
      ),
      name,
    );
    assert.notEqual(profileFileName(profileWith({ shape: { ...profileWith().shape, ffn: 1 } })), name);
    assert.notEqual(profileFileName(profileWith({ device: { ...profileWith().device, driver: '560' } })), name);
    assert.notEqual(profileFileName(profileWith({ attention: { forward: 'MatMul', backward: 'recompute' } })), name);
  });
});

describe('profile.schema.json', () => {
  const schema = JSON.parse(
    readFileSync(path.join(import.meta.dirname, '../../../../media/schemas/profile.schema.json'), 'utf8'),
  ) as object;
  const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);
  const written = JSON.parse(text) as object;

  it('accepts what we write', () => {
    assert.ok(validate(written), JSON.stringify(validate.errors));
    assert.ok(
      validate(JSON.parse(profileText(profileWith({ fit: null, errors: null, status: 'partial', error: 'cancelled', skipped: [] })))),
    );
    const experts = { ...profileWith().shape, experts: { count: 8, active: 2 } };
    assert.ok(validate(JSON.parse(profileText(profileWith({ shape: experts })))));
  });

  it('judges every value as the reader does', () => {
    const bounds = [1, 1e4, 1e6, 1e8, 1e9, 1e12, 1e18].flatMap((bound) => [bound, bound * (1 + 1e-6), -bound, -bound * (1 + 1e-6)]);
    const words = [
      '',
      'x'.repeat(4001),
      'gpu',
      'cuda',
      'fp16',
      'layer',
      'hold-out',
      'partial',
      'layernorm',
      'failed',
      '2026-01-01T00:00:00Z',
      '2026-01-01',
      'imported',
      'terapipe-profile',
    ];
    const probes: unknown[] = [0, 0.5, 1.5, 2, ...bounds, ...words, true, false, null, [], [1], [1.5], [0], {}, { a: 1 }];
    let judged = 0;
    for (const [owner, key] of placesIn(written)) {
      const before = owner[key];
      for (const probe of [...probes, undefined]) {
        if (probe === undefined) Reflect.deleteProperty(owner, key);
        else owner[key] = probe;
        assert.equal(validate(written), v.is(profileSchema, written), `${key}: ${JSON.stringify(probe ?? null).slice(0, 60)}`);
        judged++;
      }
      owner[key] = before;
    }
    assert.ok(validate(written) && judged > 3000, String(judged));
  });

  it('describes every key', () => {
    const bare = everyProperty(schema).filter(
      ([, property]) => property['$ref'] === undefined && typeof property['description'] !== 'string',
    );
    assert.deepEqual(
      bare.map(([key]) => key),
      [],
    );
  });
});

type Tree = Record<string, unknown>;

/** Every property of an object tree, and the first entry of each list, once a kind of entry. */
function placesIn(value: unknown): [owner: Tree, key: string][] {
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? Object.entries(value).slice(0, 1) : Object.entries(value);
  const nested = entries.flatMap(([, child]) => placesIn(child));
  return [...(Array.isArray(value) ? [] : entries.map(([key]): [Tree, string] => [value as Tree, key])), ...nested];
}

function everyProperty(value: unknown): [key: string, property: Tree][] {
  if (typeof value !== 'object' || value === null) return [];
  const properties = (value as Tree)['properties'];
  const own =
    typeof properties === 'object' && properties !== null && !Array.isArray(properties)
      ? Object.entries(properties as Record<string, Tree>)
      : [];
  return [...own, ...Object.values(value).flatMap(everyProperty)];
}

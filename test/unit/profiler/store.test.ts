import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { profileText } from '../../../src/core/measured-profile/file';
import type { Profile } from '../../../src/core/domain/profile';
import { profilesFolder } from '../../../src/profiler/folder';
import { readProfile, readProfiles, requireWritable, writeProfile } from '../../../src/profiler/store';

const sample = { batch: 1, tokens: 8, context: 0, forwardMs: 1, backwardMs: 2, rounds: 4, holdOut: false };
const profile: Profile = {
  version: 1,
  kind: 'terapipe-profile',
  status: 'partial',
  error: 'cancelled',
  measuredAt: '2026-01-01T00:00:00.000Z',
  source: 'onnxruntime',
  device: { kind: 'cpu', name: 'Some CPU', memoryBytes: null, driver: null },
  provider: 'cpu',
  versions: {},
  title: 'small',
  tensor: 1,
  precision: 'fp32',
  tf32: null,
  launches: null,
  sequenceLength: 8,
  largestBatch: 1,
  threads: 1,
  shape: {
    hidden: 64,
    heads: 2,
    kvHeads: 2,
    headDim: 32,
    ffn: 256,
    gatedMlp: false,
    norm: 'layernorm',
    rotary: false,
    qkvBias: true,
    attentionOutputBias: true,
    mlpBias: true,
    qkNorm: false,
    experts: null,
    vocab: 0,
    learnedPositions: true,
  },
  attention: { forward: 'MultiHeadAttention', backward: 'explicit' },
  samples: { layer: [sample], embedding: [], head: [] },
  skipped: [],
  twoLayerRatio: null,
  fit: null,
  errors: null,
  seconds: 1,
  warnings: [],
};

describe('profile files', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'terapipe-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('lie in the nearest .terapipe upwards, else in the repository, else with the config', () => {
    const deep = path.join(folder, 'a/b');
    mkdirSync(deep, { recursive: true });
    const config = path.join(deep, 'config.json');
    assert.equal(profilesFolder(config, folder), path.join(deep, '.terapipe/profiles'));
    mkdirSync(path.join(folder, '.git'));
    assert.equal(profilesFolder(config, folder), path.join(folder, '.terapipe/profiles'));
    mkdirSync(path.join(folder, 'a/.terapipe'));
    assert.equal(profilesFolder(config, folder), path.join(folder, 'a/.terapipe/profiles'));
    assert.equal(profilesFolder(config, deep), path.join(deep, '.terapipe/profiles'), 'nothing above the root is looked at');
  });

  it('come back as they were written, under a name that their content gives', async () => {
    const file = await writeProfile(folder, profile);
    assert.equal(await writeProfile(folder, profile), file);
    assert.deepEqual((await readProfile(file)).profile, profile);
    assert.deepEqual(readdirSync(folder), [path.basename(file)], 'no temporary file is left');
  });

  it('are read without those that are broken, which are named', async () => {
    await writeProfile(folder, profile);
    writeFileSync(path.join(folder, 'broken.json'), '{');
    writeFileSync(path.join(folder, 'other.json'), '{}');
    writeFileSync(path.join(folder, 'notes.txt'), 'x');
    mkdirSync(path.join(folder, 'folder.json'));
    symlinkSync(path.join(folder, 'loop.json'), path.join(folder, 'loop.json'));
    const { found, broken } = await readProfiles(folder);
    assert.equal(found.length, 1);
    assert.equal(broken.length, 4);
    for (const { code, place } of broken) {
      assert.match(code, /^profile-/);
      assert.ok(place?.file.startsWith(folder));
    }
    assert.deepEqual(await readProfiles(path.join(folder, 'absent')), { found: [], broken: [] });
  });

  it('do not wait for a pipe', async function () {
    if (spawnSync('mkfifo', [path.join(folder, 'pipe.json')]).status !== 0) {
      console.log('      skipped: no mkfifo here');
      this.skip();
    }
    assert.equal((await readProfiles(folder)).broken.length, 1);
  });

  it('are refused when they are too large to be profiles', async () => {
    writeFileSync(path.join(folder, 'large.json'), profileText(profile) + ' '.repeat(5 * 2 ** 20));
    assert.match((await readProfiles(folder)).broken[0]?.message ?? '', /too large/);
  });

  it('show where they cannot be written', async () => {
    const blocked = path.join(folder, 'blocked');
    writeFileSync(blocked, '');
    const failure = { code: 'profile-not-saved', message: /blocked.* could not be written/ };
    await assert.rejects(requireWritable(path.join(blocked, 'p.json')), failure);
    await assert.rejects(writeProfile(blocked, profile), failure);
  });

  it('are whole at any moment though two windows save the same one at once', async () => {
    const file = await writeProfile(folder, profile);
    const warnings = Array.from({ length: 200 }, (_, index) => `warning ${index}`);
    const written: string[] = [];
    const writing = [1, 2, 3, 4].map(async (seconds) => written.push(await writeProfile(folder, { ...profile, warnings, seconds })));
    let reads = 0;
    for (; written.length < writing.length; reads += 1) assert.deepEqual((await readProfiles(folder)).broken, []);
    assert.ok(reads > 0);
    await Promise.all(writing);
    assert.deepEqual(new Set(written), new Set([file]));
    assert.equal((await readProfile(file)).profile.warnings.length, 200);
    assert.deepEqual(readdirSync(folder), [path.basename(file)]);
  });

  it('never replace a complete one by one that was stopped early', async () => {
    const complete: Profile = { ...profile, status: 'complete', error: null };
    const file = await writeProfile(folder, complete);
    const partial = await writeProfile(folder, profile);
    assert.equal(partial, file.replace(/\.json$/, '-partial.json'));
    assert.equal((await readProfile(file)).profile.status, 'complete');
    assert.equal(await writeProfile(folder, { ...complete, seconds: 2 }), file);
    assert.equal((await readProfile(file)).profile.seconds, 2);
  });

  it('never replace a file that is not a profile', async () => {
    const config = path.join(folder, 'config.json');
    writeFileSync(config, '{"model_type": "gpt2"}');
    const failure = { code: 'profile-not-saved', message: /exists and is not a profile/ };
    await assert.rejects(requireWritable(config), failure);
    await assert.rejects(writeProfile(config, profile), failure);
    await assert.rejects(writeProfile(config, { ...profile, status: 'complete', error: null }), failure);
    writeFileSync(config, '{"kind": "terapipe-profile", "version": 99}');
    assert.equal(await writeProfile(config, { ...profile, status: 'complete', error: null }), config);
  });

  it('report that the disk is full, and leave no half file', async function () {
    const full = path.join(folder, 'full');
    mkdirSync(full);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', full]).status !== 0) {
      console.log('      skipped: may not mount a small disk');
      this.skip();
    }
    try {
      await assert.rejects(writeProfile(full, { ...profile, warnings: ['x'.repeat(3900), 'y'.repeat(3900)] }), /the disk is full/);
      assert.deepEqual(readdirSync(full), []);
      writeFileSync(path.join(full, 'filler'), 'z'.repeat(4096));
      await assert.rejects(requireWritable(full), /the disk is full/);
    } finally {
      spawnSync('umount', [full]);
    }
  });
});

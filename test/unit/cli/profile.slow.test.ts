import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema } from 'onnx-buf';
import { after, before, describe, it } from 'mocha';
import { runCommand } from '../../../src/cli/run-command';
import type { Profile } from '../../../src/core/domain/profile';
import { gpt2, gpt2Sizes } from '../profiler/onnx-file/models';
import { bundleChild, profilerEntry, type BundledChild } from '../profiler/bundle';

/** Small enough for a round in a tenth of a second. */
const model = { model_type: 'gpt2', n_layer: 4, n_embd: 64, n_head: 2, n_positions: 128, vocab_size: 300 };
/** What a look at the clock takes in these tests, ms: So a budget is a number of cells measured, however slow the machine. */
const lookMs = 12;
/** A provider that this platform never has. */
const foreign = process.platform === 'win32' ? 'coreml' : 'dml';

interface Outcome {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
  readonly progress: readonly string[];
}

describe('terapipe profile', () => {
  let folder: string;
  let config: string;
  let child: BundledChild;

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'terapipe-profile-'));
    config = path.join(folder, 'config.json');
    writeFileSync(config, JSON.stringify(model));
    child = await bundleChild(profilerEntry);
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await child.remove();
  });

  async function say(
    args: readonly string[],
    signal = new AbortController().signal,
    onProgress: (lines: number) => void = () => undefined,
  ): Promise<Outcome> {
    let [out, err, nowMs] = ['', '', 0];
    const progress: string[] = [];
    const exitCode = await runCommand(args, {
      out: (text) => void (out += text),
      err: (text) => void (err += text),
      clock: () => (nowMs += lookMs),
      now: () => new Date().toISOString(),
      status: () => undefined,
      progress: (line) => {
        progress.push(line);
        onProgress(progress.length);
      },
      signal,
      profilerFile: child.file,
      torchFolder: '',
      shell: () => Promise.reject(new Error('no shell here')),
      debug: true,
    });
    return { exitCode, out, err, progress };
  }

  const json = async (args: readonly string[], expected = 0): Promise<Record<string, unknown>> => {
    const { exitCode, out, err } = await say([...args, '--json']);
    assert.equal(exitCode, expected, `${err}\n${out.slice(0, 2000)}`);
    return JSON.parse(out) as Record<string, unknown>;
  };

  const profiles = () => path.join(folder, '.terapipe', 'profiles');

  it('measures a layer on the CPU, fits it, saves it, and a plan from it names it as the source', async () => {
    const answer = await json(['profile', config, '--provider', 'cpu', '--budget', '1']);
    const { provider, samples, fit, profilePath } = answer as {
      provider: string;
      samples: { tokens: number; context: number; forwardMs: number; backwardMs: number }[];
      fit: { meanError: number; maxError: number; coefficients: object };
      profilePath: string;
    };
    assert.equal(provider, 'cpu');
    assert.equal(path.dirname(profilePath), profiles());
    assert.ok(samples.length >= 12 && samples.some(({ context }) => context > 0));
    for (const { forwardMs, backwardMs } of samples) assert.ok(forwardMs > 0 && backwardMs > 0);
    assert.ok(fit.meanError > 0 && fit.meanError <= fit.maxError);
    const { plan } = (await json(['plan', config, '--profile', profilePath])) as {
      plan: { cost: { provenance: string; analytic: { iterationMs: number } }; iterationMs: number; reasons: string[] };
    };
    assert.equal(plan.cost.provenance, 'profile');
    assert.notEqual(plan.iterationMs, plan.cost.analytic.iterationMs);
    assert.ok(
      plan.reasons.some((reason) => reason.includes('analytic model')),
      plan.reasons.join('\n'),
    );
  });

  it('passes over the CPU profile when the plan is for a GPU, and reports it', async () => {
    const { plan } = (await json(['plan', config])) as {
      plan: { cost: { provenance: string }; assumptions: { key: string; reason: string }[] };
    };
    assert.equal(plan.cost.provenance, 'roofline');
    assert.match(plan.assumptions.find(({ key }) => key === 'cost.profile')?.reason ?? '', /measured on a CPU/);
  });

  it('refuses a profile of another layer with the reason', async () => {
    const [name = ''] = readdirSync(profiles());
    const other = path.join(folder, 'other.json');
    writeFileSync(other, JSON.stringify({ ...model, n_embd: 128 }));
    const { exitCode, err } = await say(['plan', other, '--profile', path.join(profiles(), name)]);
    assert.equal(exitCode, 2);
    assert.match(err, /hidden width 64, not 128/);
  });

  it('plans what check and diff look at with the profile that the command line names', async () => {
    const [name = ''] = readdirSync(profiles());
    const profile = path.join(profiles(), name);
    const other = path.join(folder, 'wide.json');
    writeFileSync(other, JSON.stringify({ ...model, n_embd: 128 }));
    const { findings } = (await json(['check', config, other, '--profile', profile], 1)) as {
      findings: { severity: string; file: string; message: string }[];
    };
    const errors = findings.filter(({ severity }) => severity === 'error');
    assert.deepEqual(errors.map(({ file }) => file), [other]); // prettier-ignore
    assert.match(errors[0]?.message ?? '', /hidden width 64, not 128/);
    const longer = path.join(folder, 'longer.json');
    writeFileSync(longer, JSON.stringify({ ...model, n_layer: 8 }));
    const { configs } = (await json(['diff', config, longer, '--profile', profile])) as { configs: { base: { stepMs: number } }[] };
    const { plan } = (await json(['plan', config, '--profile', profile])) as { plan: { iterationMs: number } };
    assert.equal(configs[0]?.base.stepMs, plan.iterationMs);
  });

  it('is shown by inspect, with TF32 and launches', async () => {
    const [name = ''] = readdirSync(profiles());
    const file = path.join(profiles(), name);
    const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile;
    const shown = await json(['inspect', file]);
    assert.deepEqual([shown['launches'], shown['profilePath']], [profile.launches, file]);
    assert.ok(profile.launches !== null && profile.launches.forwardMs > 0);
    const cuda = path.join(folder, 'cuda.json');
    for (const [tf32, text] of [
      [true, / fp32 in TF32\n/],
      [false, /\n {2}TF32 +off\n/],
    ] as const) {
      // prettier-ignore
      writeFileSync(cuda, JSON.stringify({ ...profile, provider: 'cuda', tf32 }));
      assert.match((await say(['inspect', cuda])).out, text);
    }
    assert.match((await say(['inspect', cuda])).out, /launches +[\d.]+ µs a node, [\d.]+ µs a product: /);
  });

  it('is shown by inspect where the PyTorch runtime measured it', async () => {
    const file = path.resolve(import.meta.dirname, '../../fixtures/measured/torch/profile.json');
    const { exitCode, out } = await say(['inspect', file]);
    assert.deepEqual([exitCode, /^fx: measured slice times\n[^]*\n {2}layer +hidden 128, 4 heads of 32,/.test(out)], [0, true]);
  });

  it('compares two profiles of one layer', async () => {
    const [name = ''] = readdirSync(profiles());
    const file = path.join(profiles(), name);
    const { ratio } = (await json(['profile', file, '--compare', file])) as { ratio: number };
    assert.ok(Math.abs(ratio - 1) < 1e-9);
  });

  it('takes times measured elsewhere', async () => {
    const csv = path.join(folder, 'times.csv');
    const rows = [8, 16, 32, 64, 128].flatMap((tokens) => [0, 64].map((context) => `${tokens},${context},${tokens / 100},${tokens / 50}`));
    writeFileSync(csv, ['tokens,context,forward_ms,backward_ms', ...rows].join('\n'));
    const out = path.join(folder, 'imported.json');
    const { profilePath } = await json(['profile', config, '--import', csv, '--device', 'H100-80GB', '--out', out]);
    assert.equal(profilePath, out);
    const { plan } = (await json(['plan', config, '--gpu', 'H100-80GB', '--profile', out])) as { plan: { cost: { provenance: string } } };
    assert.equal(plan.cost.provenance, 'profile');
    const mixed = path.join(folder, 'mixed.json');
    const groups = [{ gpu: 'H100-80GB', nodes: 1 }, { gpu: 'L40S', nodes: 1 }]; // prettier-ignore
    writeFileSync(mixed, JSON.stringify({ model: { layers: 4, hidden: 256, heads: 4 }, cluster: { groups } }));
    const unnamed = await say(['profile', mixed, '--import', csv]);
    assert.deepEqual([unnamed.exitCode, unnamed.err.includes('name it with --device')], [2, true]);
    writeFileSync(csv, 'tokens,forward_ms\n8,fast\n');
    const { exitCode, err } = await say(['profile', config, '--import', csv]);
    assert.equal(exitCode, 2);
    assert.match(err, /times\.csv:2:3: /);
  });

  it('takes the shape of a layer from an ONNX model', async () => {
    const file = path.join(folder, 'gpt2.onnx');
    writeFileSync(file, toBinary(ModelProtoSchema, gpt2().model()));
    const { model: sizes } = (await json(['inspect', file])) as { model: { layers: number; hidden: number; heads: number } };
    assert.deepEqual([sizes.layers, sizes.hidden, sizes.heads], [gpt2Sizes.layers, gpt2Sizes.hidden, gpt2Sizes.heads]);
    const { layer } = (await json(['profile', file, '--provider', 'cpu', '--budget', '1'])) as { layer: { hidden: number; ffn: number } };
    assert.deepEqual([layer.hidden, layer.ffn], [gpt2Sizes.hidden, gpt2Sizes.ffn]);
  });

  it('begins with what the CPU measures, and ends with the plan that takes it, or why none does', async () => {
    const serves = / --profile \S+\.json --set training\.precision=fp32\n/;
    const open = await say(['profile', config, '--provider', 'cpu', '--budget', '1', '--out', path.join(folder, 'cpu.json')]);
    assert.match(open.err, /^The CPU \(.+\) measures fp32, which serves only plans with training\.precision=fp32: terapipe plan /);
    assert.match(open.err, serves);
    assert.match(`${open.out}\n`, serves);
    assert.equal((await say(['plan', config, '--profile', path.join(folder, 'cpu.json'), '--set', 'training.precision=fp32'])).exitCode, 0);
    const fixed = path.join(folder, 'fixed.json');
    const sizes = { layers: 4, hidden: 64, heads: 2, vocab: 300 };
    writeFileSync(
      fixed,
      JSON.stringify({ model: sizes, cluster: { gpu: 'H100-80GB' }, training: { sequenceLength: 128, precision: 'fp32' } }),
    );
    const gpu = await say(['profile', fixed, '--provider', 'cpu', '--budget', '1', '--out', path.join(folder, 'cpu-fixed.json')]);
    assert.match(gpu.out, /Plans of \S+fixed\.json do not use it: it was measured on a CPU \(.+\), not on H100-80GB/);
    const bf16 = await say(['profile', config, '--provider', 'cpu', '--set', 'training.precision=bf16']);
    assert.deepEqual([bf16.exitCode, bf16.progress], [2, []]);
    assert.match(bf16.err, /run `terapipe profile \S+config\.json --set training\.precision=fp32`/);
  });

  it('explains why a provider does not serve', async () => {
    const { exitCode, err } = await say(['profile', config, '--provider', foreign]);
    assert.equal(exitCode, 2);
    assert.match(err, /no execution provider/i);
  });

  it('tries the place of the profile before it measures', async () => {
    const blocked = path.join(folder, 'blocked');
    writeFileSync(blocked, '');
    const { exitCode, err, progress } = await say(['profile', config, '--provider', 'cpu', '--out', path.join(blocked, 'p.json')]);
    assert.equal(exitCode, 2);
    assert.match(err, /could not be written/);
    assert.equal(progress.length, 0);
  });

  it('keeps what was measured when it is interrupted', async () => {
    const interrupt = new AbortController();
    const out = path.join(folder, 'partial.json');
    const { exitCode, out: text } = await say(
      ['profile', config, '--provider', 'cpu', '--budget', '60', '--out', out, '--json'],
      interrupt.signal,
      (lines) => {
        if (lines === 3) interrupt.abort();
      },
    );
    assert.equal(exitCode, 1);
    assert.equal((JSON.parse(text) as { status: string }).status, 'partial');
    const { samples, error } = JSON.parse(readFileSync(out, 'utf8')) as Profile;
    assert.equal(error, 'cancelled');
    assert.ok(samples.layer.length > 0);
  });

  it('prints what was measured when it can no longer be saved', async () => {
    const target = path.join(folder, 'vanishing');
    const never = new AbortController().signal;
    const { exitCode, out } = await say(
      ['profile', config, '--provider', 'cpu', '--budget', '1', '--out', target, '--json'],
      never,
      (lines) => {
        if (lines !== 2) return;
        rmSync(target, { recursive: true });
        writeFileSync(target, '');
      },
    );
    assert.equal(exitCode, 1);
    const { samples, profilePath, error } = JSON.parse(out) as { samples: unknown[]; profilePath: string | null; error: string };
    assert.equal(profilePath, null);
    assert.match(error, /could not be written/);
    assert.ok(samples.length > 0);
  });

  it('reports it when it is cancelled before anything was measured, in JSON too', async () => {
    const { exitCode, out, err } = await say(['profile', config, '--provider', 'cpu', '--json'], AbortSignal.abort());
    assert.equal(exitCode, 1);
    assert.equal((JSON.parse(out) as { error: { code: string } }).error.code, 'cancelled');
    assert.match(err, /^terapipe: Cancelled/m);
  });

  it('measures afresh though the config names a profile that is gone', async () => {
    const named = path.join(folder, 'named.terapipe.json');
    writeFileSync(named, JSON.stringify({ model: 'config.json', cost: { profile: 'gone.json' } }));
    assert.equal((await say(['plan', named])).exitCode, 2);
    const { profilePath } = await json(['profile', named, '--provider', 'cpu', '--budget', '1', '--out', path.join(folder, 'fresh.json')]);
    assert.equal(profilePath, path.join(folder, 'fresh.json'));
  });

  it('refuses options of profile for other commands', async () => {
    const { exitCode, err } = await say(['plan', config, '--provider', 'cpu']);
    assert.equal(exitCode, 2);
    assert.match(err, /--provider is an option of profile/);
  });

  it('refuses options it does not understand', async () => {
    for (const args of [
      ['--provider', 'cudda'],
      ['--budget', '0'],
      ['--threads', 'many'],
      ['--threads', '100000'],
      ['--import', 'x.csv', '--compare', 'y.json'],
      ['--device', 'H200'],
    ]) {
      const { exitCode, err } = await say(['profile', config, ...args]);
      assert.equal(exitCode, 2, args.join(' '));
      assert.match(err, /^terapipe: /);
    }
  });
});

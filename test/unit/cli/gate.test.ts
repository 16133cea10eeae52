import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parse } from 'yaml';
import { version } from '../../../package.json';
import { understand } from '../../../src/cli/arguments';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): unknown => parse(readFileSync(path.join(root, file), 'utf8'));

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const action = read('action.yml') as {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
};

/** Runs a step of the action with a terapipe that writes its arguments down. */
function runStep(name: string, env: Readonly<Record<string, string>>): { readonly calls: string[][]; readonly status: number | null } {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-action-'));
  const log = path.join(folder, 'calls');
  const program = path.join(folder, 'terapipe');
  writeFileSync(program, `#!/bin/sh\nfor word; do printf '%s\\0' "$word" >> '${log}'; done\nprintf '\\n' >> '${log}'\nexit 1\n`);
  chmodSync(program, 0o755);
  const { run = '' } = action.runs.steps.find((step) => step.name === name) ?? {};
  const { status } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}`, RUNNER_TEMP: folder, ...env },
  });
  const calls = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1).map((line) => line.split('\0').slice(0, -1)) : []; // prettier-ignore
  rmSync(folder, { recursive: true });
  return { calls, status };
}

describe('the gate for pull requests', () => {
  it('gives each input to a step as a variable, and none to its script', () => {
    const text = readFileSync(path.join(root, 'action.yml'), 'utf8');
    for (const name of Object.keys(action.inputs)) assert.ok(text.includes(`inputs.${name} `), name);
    for (const { run = '' } of action.runs.steps) assert.ok(!run.includes('${{'), run);
  });

  it('installs the version of this repository', () => {
    const manifest = read('packages/cli/package.json') as { readonly version: string };
    assert.equal(manifest.version, version);
    const workflow = readFileSync(path.join(root, '.github/workflows/package.yml'), 'utf8');
    assert.ok(workflow.includes(`out/terapipe-${version}.tgz`));
    assert.equal(action.inputs['package']?.default, `terapipe@${version}`);
    const [hook] = read('.pre-commit-hooks.yaml') as readonly { readonly entry: string; readonly args: readonly string[] }[];
    assert.match(hook!.entry, new RegExp(`terapipe@${version} check$`));
    assert.doesNotThrow(() => understand(['check', ...hook!.args]));
    assert.ok(readFileSync(path.join(root, 'docs/cli.md'), 'utf8').includes(`[terapipe@${version}]`));
  });

  it('checks what the inputs name, whatever words they hold, and fails as the check does', function () {
    if (process.platform === 'win32') this.skip();
    const empty = { GPU: '', NODES: '', IGNORE: '', STRICT: 'false', SARIF: 'false', SEVERITY: 'information' };
    const plain = runStep('Check', { ...empty, PATHS: '.' });
    assert.deepEqual(plain, { calls: [['check', '--severity', 'information', '--format', 'github', '--', '.']], status: 1 });
    const odd = runStep('Check', { ...empty, PATHS: 'a b\n$(touch c)\n', GPU: '"; exit 0', STRICT: 'true', SARIF: 'true' });
    const words = ['check', '--severity', 'information', '--gpu', '"; exit 0', '--strict'];
    assert.deepEqual(odd, {
      calls: ['sarif', 'github'].map((format) => [...words, '--format', format, '--', 'a b', '$(touch c)']),
      status: 1,
    });
    for (const [call = []] of [plain.calls]) assert.doesNotThrow(() => understand(call));
  });
});

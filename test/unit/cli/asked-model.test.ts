import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from './command-line';

const yaml = 'distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\nmixed_precision: bf16\nnum_processes: 8\n';
const asked = ['--model', 'meta-llama/Llama-3.2-1B'];

describe('--model of commands', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
    mkdirSync(path.join(terapipe.folder, 'configs'));
    for (const name of ['a.yaml', 'b.yaml']) writeFileSync(path.join(terapipe.folder, 'configs', name), name === 'a.yaml' ? yaml : yaml.replace('8', '4')); // prettier-ignore
  });
  after(() => {
    terapipe.dispose();
  });

  it('is the model of what check looks at', async () => {
    assert.match((await terapipe.run(['check', 'configs/a.yaml', '--all'])).out, /model-not-planned/);
    assert.doesNotMatch((await terapipe.run(['check', 'configs/a.yaml', '--all', ...asked])).out, /model-not-planned/);
  });

  it('is that of both sides that diff compares', async () => {
    const { out } = await terapipe.run(['diff', 'configs/a.yaml', 'configs/b.yaml', '--json', ...asked]);
    const { configs } = JSON.parse(out) as { readonly configs: readonly { readonly base: object | null; readonly head: object | null }[] };
    assert.ok(configs[0]?.base && configs[0].head, out);
  });

  it('is that of the config that a plan is compared with', async () => {
    const { exitCode, err } = await terapipe.run(['plan', 'configs/a.yaml', '--compare', 'configs/b.yaml', ...asked]);
    assert.equal(exitCode, 0, err);
  });

  it('is taken by where', async () => {
    const { exitCode, err } = await terapipe.run(['where', 'configs/a.yaml', '--on', 'H100-80GB:8', ...asked]);
    assert.equal(exitCode, 0, err);
  });

  it('is of the current folder, and an error by its name where it is nothing', async () => {
    for (const [name, pattern] of [
      ['nope.json', /--model "nope\.json" does not exist/],
      ['nobody/nothing', /--model "nobody\/nothing" does not exist/],
      ['', /--model is empty/],
    ] as const)
      // prettier-ignore
      assert.match((await terapipe.run(['plan', 'configs/a.yaml', '--model', name])).err, pattern);
  });
});

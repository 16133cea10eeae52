import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine } from './command-line';

const nemo = readFileSync(path.join(import.meta.dirname, '../../fixtures/launchers/nemo.yaml'), 'utf8');

describe('terapipe inspect, of a launcher', () => {
  const cli = openCommandLine();
  after(cli.dispose);

  it('prints small numbers whole', async () => {
    const small = 'layernorm_epsilon: 1e-6\n  init_method_std: 0.0078125\n  num_layers: 32';
    writeFileSync(path.join(cli.folder, 'run.yaml'), nemo.replace('num_layers: 32', small));
    const { out } = await cli.run(['inspect', 'run.yaml']);
    assert.match(out, /normEpsilon +0\.000001 /);
    assert.match(out, /initStd +0\.0078125 /);
  });

  it('prints a number that is nearly nothing as it is', async () => {
    writeFileSync(path.join(cli.folder, 'run.yaml'), nemo.replace('num_layers: 32', 'layernorm_epsilon: 1e-22\n  num_layers: 32'));
    const { out } = await cli.run(['inspect', 'run.yaml']);
    assert.match(out, /normEpsilon +1e-22 /);
  });
});

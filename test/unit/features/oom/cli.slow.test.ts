import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';
import { framed, text } from './pickles';

const fixtures = path.join(import.meta.dirname, '../../../fixtures');
const config = path.join(fixtures, 'configs/pipeline/terapipe.json');
const log = path.join(fixtures, 'oom/fragmentation.log');

describe('terapipe oom', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
  });
  after(() => {
    terapipe.dispose();
  });

  it('refuses a pickle that would run a command, and runs nothing', async () => {
    // cposix\nsystem, a text, a tuple of it, REDUCE: what pickle.loads would run
    const call = [0x63, ...Buffer.from('posix\nsystem\n'), ...text('touch ran'), 0x85, 0x52];
    writeFileSync(path.join(terapipe.folder, 'hostile.pickle'), framed(call));
    const { exitCode, err } = await terapipe.run(['oom', 'hostile.pickle']);
    assert.equal(exitCode, 2);
    assert.match(err, /refused at byte 2: it would make a Python object \(GLOBAL\)/);
    assert.ok(!existsSync(path.join(terapipe.folder, 'ran')));
  });

  it('puts what a log has next to the plan of the stage of its rank', async () => {
    const { out, exitCode } = await terapipe.run(['oom', log, config]);
    assert.equal(exitCode, 1);
    assert.match(out, /^Fragmentation: .*\(rank 3\)/);
    assert.match(out, /pipeline: stage 1 of 4/);
    assert.match(out, /Recompute all layers: frees .* MiB, .* slower \(--set training\.recompute=full\)/);
  });

  it('exits with 0 where nothing ran out, and refuses what it cannot read', async () => {
    assert.equal((await terapipe.run(['oom', path.join(fixtures, 'oom/steady-torchtitan.log')])).exitCode, 0);
    assert.match((await terapipe.run(['oom', 'missing.log'])).err, /cannot be read \(ENOENT\)/);
    writeFileSync(path.join(terapipe.folder, 'weights.pt'), 'PK\u0003\u0004');
    assert.match((await terapipe.run(['oom', 'weights.pt'])).err, /is a zip archive/);
    assert.match((await terapipe.run(['oom', log, config, config])).err, /oom takes LOG and the config of its run/);
  });
});

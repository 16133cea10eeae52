import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maximumConfigSize } from '../../../../../src/core/languages/json/document';
import { readMeasuredFile } from '../../../../../src/features/compare/worker/measured-file';

const line = (iteration: number, ms: number): string =>
  ` iteration ${iteration}/ 9 | elapsed time per iteration (ms): ${ms} | lm loss: 1.0 |\n`;

describe('the file of a measured run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'terapipe-measured-'));
  const path = join(folder, 'run.log');
  const read = (options: Parameters<typeof readMeasuredFile>[2] = {}) => readMeasuredFile(path, 'file:///w/run.log', options);
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is read the same whole and piece by piece', async () => {
    const times = `${line(1, 50)}${line(2, 20)}${line(3, 22)}`;
    writeFileSync(path, times);
    const small = await read();
    writeFileSync(path, `${'loading ...\n'.repeat(maximumConfigSize / 10)}${times}`);
    const fractions: number[] = [];
    assert.deepEqual(await read({ onProgress: (fraction) => fractions.push(fraction) }), small);
    assert.ok(fractions.length > 4 && fractions.at(-1) === 1);
  });

  it('is given up between two pieces', async () => {
    const signal = { aborted: false };
    let pieces = 0;
    const onProgress = (): void => {
      pieces += 1;
      signal.aborted = true;
    };
    await assert.rejects(read({ signal, onProgress }), { name: 'CancelledError' });
    assert.equal(pieces, 1);
  });

  it('is refused when it is neither a trace nor times, not there, or no file, at its name', async () => {
    writeFileSync(path, 'Es war einmal ein Lattenzaun\n');
    const place = { file: 'file:///w/run.log', range: { start: 0, end: 0 } };
    await assert.rejects(read(), { code: 'measured-unknown', place });
    await assert.rejects(readMeasuredFile(folder, place.file), { code: 'measured-unreadable', place });
    await assert.rejects(readMeasuredFile(join(folder, 'nothing'), place.file), { code: 'measured-unreadable', place });
  });
});

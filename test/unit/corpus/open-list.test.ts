import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { launcherFormats } from '../../../src/core/launchers/registry';
import { countRows, readKnownFacts, readRows, rowOf, worseRows, type OpenRow } from '../../corpus/open-rows';
import { knownReaders } from '../../corpus/shown-readers';
import { judgeOf, readVerdicts } from '../../corpus/verdict-file';

describe('the open list', () => {
  const rows = readRows();

  it('has each of its 362 files once, in order', () => {
    const files = rows.map(({ file }) => file);
    assert.equal(files.length, 362);
    assert.deepEqual(files, [...new Set(files)].sort());
  });

  it('gives the reason for every file that is not a config, and for every run that is not planned', () => {
    const silent = rows.filter(({ config, planned, why }) => (!config || planned === false) && why === undefined);
    assert.deepEqual(silent, []);
  });

  it('calls the files configs that the verdicts do', () => {
    const judge = judgeOf(readVerdicts());
    for (const { file, config } of rows) assert.equal(config, judge(file, 'recognised')?.verdict !== false, file);
  });

  it('is recognised and planned in the share that is promised', () => {
    const { configs, recognised, runs, planned } = countRows(rows);
    assert.ok(recognised >= 0.85 * configs, `${recognised} of ${configs}`);
    assert.ok(planned >= 0.9 * runs, `${planned} of ${runs}`);
  });

  it('reports files that are read worse than before', () => {
    const row: OpenRow = { file: 'a+b/run.sh', config: true, format: 'verl', planned: true };
    assert.deepEqual(worseRows([row], [row]), []);
    assert.deepEqual(worseRows([row], [{ ...row, format: null, planned: null }]), ['a+b/run.sh: was verl, is not recognised']);
    assert.deepEqual(worseRows([row], [{ ...row, planned: false, why: 'no sizes' }]), ['a+b/run.sh: was planned, is not: no sizes']);
  });

  it('takes the reason from the verdict where a file is not a config', () => {
    const verdict = { file: 'a+b/eval.sh', rule: 'recognised', verdict: false, why: 'evaluates' };
    const judged = rowOf({ file: 'a+b/eval.sh', format: null, planned: null, judge: judgeOf([verdict]) });
    assert.deepEqual(judged, { file: 'a+b/eval.sh', config: false, format: null, planned: null, why: 'evaluates' });
  });

  it('has 150 facts with their lines, of files of the list', () => {
    const facts = readKnownFacts();
    const files = new Set(rows.map(({ file }) => file));
    assert.equal(new Set(facts.map(({ file, name, line }) => `${file} ${name} ${line}`)).size, 150);
    assert.deepEqual(facts.filter(({ file, line }) => !files.has(file) || line < 1), []); // prettier-ignore
  });
});

describe('the page of readers', () => {
  it('has a public file for every launcher', () => {
    assert.deepEqual(
      knownReaders.map(({ format }) => format),
      launcherFormats,
    );
  });

  it('has facts of each file, and a plan or the reason for none', () => {
    for (const { format, facts, plan } of knownReaders) assert.ok(facts.length > 0 && plan !== '', format);
  });
});

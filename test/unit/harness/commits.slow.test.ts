import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { commitsOf, problemsOf } from '../../harness/commits.mjs';

describe('the check of commit messages', () => {
  const tomorrow = Date.UTC(2026, 10, 27) / 1000;
  const problems = (message: string, files: number | null = 1, seconds = tomorrow) =>
    problemsOf({ id: '', seconds, message, files }).length;

  it('takes a verb in the imperative after an area', () => {
    for (const subject of ['memory: name the peak of the optimizer step', 'cli, docs: process 2 logs', 'test/webview: embed fonts'])
      assert.equal(problems(subject), 0, subject);
    assert.equal(problems('Revert "memory: name the peak"', 3), 0);
  });

  it('finds subjects that are long, lack an area or are in another form', () => {
    for (const subject of [
      'name the peak',
      'memory: named the peak',
      'memory: names it',
      'memory: naming it',
      'memory: the peak has a name',
    ])
      assert.equal(problems(subject), 1, subject);
    assert.equal(problems(`memory: name ${'x'.repeat(60)}`), 1);
  });

  it('asks for a body where more changes than a file and its test, from the day after the rule came', () => {
    assert.equal(problems('memory: name the peak\n\n', 3), 1);
    assert.equal(problems('memory: name the peak\n\n', 3, tomorrow - 1), 0);
    assert.equal(problems('memory: name the peak\n\nIt had no name.', 3), 0);
    assert.equal(problems('memory: name the peak', 2), 0);
    assert.equal(problems('memory: name the peak', null), 0);
  });

  describe('reads commits', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-commits-test-'));
    const whole = path.join(folder, 'whole');
    const shallow = path.join(folder, 'shallow');
    const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim();
    const commit = (message: string, seconds: number, ...files: string[]) => {
      for (const file of files) writeFileSync(path.join(whole, file), message);
      git(whole, 'add', '.');
      const author = ['-c', 'user.name=A', '-c', 'user.email=a@b.c', '-c', 'commit.gpgsign=false'];
      git(whole, ...author, 'commit', '-q', '-m', message, '--date', `${seconds} +0000`);
      return git(whole, 'rev-parse', 'HEAD');
    };
    const found = (clone: string, after: { id: string; seconds: number }) =>
      commitsOf(clone, after).map(({ message, files }) => [message.trim(), files]);
    let base = { id: '', seconds: 1000000100 };

    before(() => {
      git(folder, 'init', '-q', 'whole');
      commit('all: begin', 1000000000, 'a');
      base = { ...base, id: commit('a: change', base.seconds, 'a') };
      commit('b: add', 1000000200, 'b', 'c', 'c.md');
      commit('a: explain\n\nWith a body.', 1000000300, 'a');
      git(folder, 'clone', '-q', '--depth', '2', `file://${whole}`, 'shallow');
    });
    after(() => rmSync(folder, { recursive: true }));

    it('after the one that is named', () =>
      assert.deepEqual(found(whole, base), [
        ['a: explain\n\nWith a body.', 1],
        ['b: add', 2],
      ]));

    it('written later than that where a clone lacks it', () => {
      assert.deepEqual(found(shallow, base), [
        ['a: explain\n\nWith a body.', 1],
        ['b: add', null],
      ]);
      assert.deepEqual(found(whole, { ...base, id: '0'.repeat(40) }), found(whole, base));
    });

    it('none where there is no clone', () => assert.deepEqual(found(folder, base), []));
  });
});

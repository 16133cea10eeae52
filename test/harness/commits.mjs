// @ts-check
// Checks the messages of commits: `node test/harness/commits.mjs`. The checks tier of `npm test` runs it.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { root } from './setup.mjs';

/**
 * A commit, when it was written, and how many files it changes, documents left out; null where a shallow clone lacks its parent.
 * @typedef {{ readonly id: string, readonly seconds: number, readonly message: string, readonly files: number | null }} Commit
 */

/** The last commit before these rules, and when it was written: seconds since 1970. */
const last = { id: 'b69fe631de3b33faf4863cd8b2d16740dc345fb5', seconds: 1795672222 };
const longestSubject = 72;
/** Files that a commit may change without a body: what it changes, and its test. */
const mostWithoutBody = 2;
/** Bodies are asked for from 2026-11-27 on: commits that were under way when the rule came did not know it. */
const bodiesFromSeconds = Date.UTC(2026, 10, 27) / 1000;
/** Words that are not verbs. */
const noVerb =
  /^(?:an?|the|th[eo]se|this|that|its?|one|two|not?|all|each|every|some|any|more|less|now|new|and|or|of|in|on|to|for|from|with|without|when|where|what)$/;
/** Verbs with the endings of other forms. */
const verb = /^(?:embed|shed|\w*[efc]eed|need|seed|speed|bring|ring|string|swing|alias|bias|\w*[su]s)$/;

/**
 * @param {Commit} commit
 * @returns {string[]} what is wrong with its message
 */
export function problemsOf({ seconds, message, files }) {
  const [subject = '', ...body] = message.trimEnd().split('\n');
  // Git words these.
  if (/^(?:Revert|Reapply) "/.test(subject)) return [];
  const [, first = ''] = /^\w[\w./, -]*: ([\w-]+)/.exec(subject) ?? [];
  const isImperative = /^[a-z]/.test(first) && !noVerb.test(first) && (verb.test(first) || !/(?:ed|ing|s)$/.test(first));
  const needsBody = seconds >= bodiesFromSeconds && (files ?? 0) > mostWithoutBody;
  return [
    ...(subject.length > longestSubject ? [`the subject has ${subject.length} characters, at most ${longestSubject} are allowed`] : []),
    ...(isImperative ? [] : ['the subject is not "area: verb what", with the verb in the imperative']),
    ...(needsBody && body.every((line) => line.trim() === '') ? [`${files} files change, but no body explains why`] : []),
  ];
}

/**
 * @param {string} folder
 * @param {{ readonly id: string, readonly seconds: number }} after where the clone lacks this commit, those written later are taken
 * @returns {Commit[]} all commits but merges; none where there is no clone, or no git
 * @throws {Error} where git fails
 */
export function commitsOf(folder, after = last) {
  if (!existsSync(path.join(folder, '.git'))) return [];
  const git = (/** @type {string[]} */ ...args) =>
    spawnSync('git', ['-c', 'safe.directory=*', ...args], { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 });
  const isKnown = git('cat-file', '-e', `${after.id}^{commit}`).status === 0;
  const range = isKnown ? `${after.id}..HEAD` : 'HEAD';
  const { error, status, stdout, stderr } = git('log', '--no-merges', '--name-only', '--format=%x01%H%x00%at%x00%P%x00%B%x00', range);
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return [];
  if (status !== 0) throw new Error(`git log: ${stderr.trim()}`);
  return stdout
    .split('\x01')
    .slice(1)
    .flatMap((entry) => {
      const [id = '', at, parents, message = '', names = ''] = entry.split('\x00');
      const seconds = Number(at);
      if (!isKnown && seconds <= after.seconds) return [];
      const files = names.split('\n').filter((name) => name !== '' && !name.endsWith('.md')).length;
      return [{ id, seconds, message, files: parents === '' ? null : files }];
    });
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const commit of commitsOf(root))
    for (const problem of problemsOf(commit)) {
      console.error(`${commit.id.slice(0, 8)} ${commit.message.split('\n')[0]}: ${problem}`);
      process.exitCode = 1;
    }
}

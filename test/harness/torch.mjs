// @ts-check
// The torch tier: tests of src/runtime/torch in Python, with a PyTorch that `npm run test:torch` installs from PyPI.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { followEvents } from './events.mjs';
import { removeAtExit, run, start } from './processes.mjs';
import { findProgram, lastWords, root } from './setup.mjs';
import { missing, say, secondsSince } from './steps.mjs';

const tests = path.join(root, 'test/torch');
const requirements = path.join(tests, 'requirements.txt');
const gib = 2 ** 30;
/** An environment of PyTorch 2.15 from PyPI, with NVIDIA's libraries, that it does not start without. */
const neededBytes = 8 * gib;
const installLimitMs = 30 * 60_000;
/** Older ones lack what the runtime uses. */
const oldestTorch = '2.6';

function parentFolder() {
  return path.resolve(root, process.env['TERAPIPE_TOOLS'] || '.tools');
}

/** Its name changes with what is installed into it. */
function environmentFolder() {
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  return path.join(parentFolder(), `torch-${version}`);
}

/** @param {string} folder of an environment */
const pythonIn = (folder) => path.join(folder, 'bin', 'python');

/**
 * @param {string} python
 * @returns {Promise<boolean>} whether it has a PyTorch that the runtime supports
 */
async function hasTorch(python) {
  const code = `import torch, sys; sys.exit(0 if tuple(map(int, torch.__version__.split('.')[:2])) >= (${oldestTorch.replace('.', ', ')}) else 1)`;
  const tried = await run(python, ['-c', code], { limitMs: 120_000 }).catch(() => ({ code: 1 }));
  return tried.code === 0;
}

/**
 * A Python with PyTorch: TERAPIPE_TORCH_PYTHON, the environment that was installed here, or python3.
 * @returns {Promise<string | null>}
 */
export async function findTorch() {
  const named = process.env['TERAPIPE_TORCH_PYTHON'] || null;
  const installed = pythonIn(environmentFolder());
  const candidates = named === null ? [existsSync(installed) ? installed : null, findProgram('python3')] : [named];
  for (const python of candidates) if (python !== null && (await hasTorch(python))) return python;
  if (named !== null)
    throw missing(`TERAPIPE_TORCH_PYTHON names ${named}, which has no PyTorch ${oldestTorch}`, 'correct it or leave it out');
  return null;
}

/**
 * The environment of requirements.txt, installed from PyPI unless it exists.
 * @returns {Promise<string>} its Python
 */
export async function ensureTorch() {
  const found = await findTorch();
  if (found !== null) {
    say('torch', found);
    return found;
  }
  const python = findProgram('python3');
  if (python === null) throw missing('no python3 on the PATH', 'install Python 3.10 or newer');
  const folder = environmentFolder();
  mkdirSync(parentFolder(), { recursive: true });
  const free = statfsSync(parentFolder());
  const freeBytes = free.bavail * free.bsize;
  const disk = `${neededBytes / gib} GiB of disk in ${path.relative(root, parentFolder()) || parentFolder()}, ${(freeBytes / gib).toFixed(0)} GiB are free`;
  if (freeBytes < neededBytes) throw missing(`PyTorch needs ${disk}`, 'free some, or name another folder in TERAPIPE_TOOLS');
  say('torch', `installing PyTorch from PyPI: ${disk}`);
  const startMs = performance.now();
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  removeAtExit(unfinished);
  await inEnvironment(python, ['-m', 'venv', '--copies', unfinished]);
  await inEnvironment(pythonIn(unfinished), ['-m', 'pip', 'install', '--no-cache-dir', '--quiet', '-r', requirements]);
  // A virtual environment knows its folder by the Python that starts it, so that it can be renamed; its scripts cannot.
  renameSync(unfinished, folder);
  say('torch', `installed in ${secondsSince(startMs)}`);
  return pythonIn(folder);
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
async function inEnvironment(program, args) {
  const { code, output } = await run(program, args, { limitMs: installLimitMs });
  if (code !== 0)
    throw missing(
      `PyTorch could not be installed: ${lastWords(output)}`,
      'see that pip reaches PyPI, or name a Python in TERAPIPE_TORCH_PYTHON',
    );
}

/**
 * @param {string} python
 * @param {string} folder for events and plans
 * @returns {Pick<import('./supervise.mjs').Tier, 'start'>}
 */
export function torchTier(python, folder) {
  const files = readdirSync(tests)
    .filter((name) => /^test_.*\.py$/.test(name))
    .sort()
    .map((name) => path.join(tests, name));
  return {
    start(emit) {
      mkdirSync(folder, { recursive: true });
      let stopped = false;
      /** @type {import('./processes.mjs').Running | null} */
      let running = null;
      const work = async () => {
        for (const file of files) {
          if (stopped) return;
          const events = path.join(folder, `${path.basename(file)}.jsonl`);
          rmSync(events, { force: true });
          const stopFollowing = followEvents(events, emit);
          let output = '';
          running = start(python, [path.join(tests, 'run.py'), events, file], { cwd: root, env: pythonEnv(folder) });
          for (const stream of [running.child.stdout, running.child.stderr])
            stream?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => (output = (output + chunk).slice(-5000)));
          const code = await running.ended;
          stopFollowing();
          await running.stop();
          if (code !== 0)
            emit({ kind: 'fail', name: path.basename(file), why: `its process ended with code ${code}: ${lastWords(output)}` });
        }
      };
      return {
        done: work(),
        async stop() {
          stopped = true;
          await running?.stop();
        },
      };
    },
  };
}

/**
 * One thread a rank: processes share the cores.
 * @param {string} folder
 */
function pythonEnv(folder) {
  const packages = [path.join(root, 'src/runtime/torch'), tests].join(path.delimiter);
  const own = { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', OMP_NUM_THREADS: '1', TERAPIPE_TORCH_OUT: folder };
  return { ...process.env, ...own };
}

import { execFile } from 'node:child_process';
import { CancelledError, ExpectedError } from '../../core/errors';
import { sentence, type Sentence } from '../../core/sentence';

/** The PyTorch of an interpreter. */
export interface InstalledTorch {
  readonly version: string;
  /** GPUs that it can use with NCCL. */
  readonly gpus: number;
}

/** The oldest PyTorch that the runtime takes. */
const oldest = [2, 6] as const;
/** Importing PyTorch from a cold disk takes most of a minute. */
const longestMs = 180_000;

const script = `import json
try:
    import torch
except ImportError as error:
    print(json.dumps({"error": str(error)}))
else:
    nccl = torch.distributed.is_available() and torch.distributed.is_nccl_available()
    print(json.dumps({"version": torch.__version__, "gpus": torch.cuda.device_count() if nccl else 0}))
`;

/**
 * Asks an interpreter for its PyTorch, in a child process.
 * @param folder that it starts in, whose modules it may import.
 * @throws ExpectedError `run-python` where it does not start, `run-torch` where PyTorch is missing or too old; CancelledError.
 */
export async function findTorch(python: string, folder: string, signal: AbortSignal): Promise<InstalledTorch> {
  const printed = await new Promise<string>((resolve, reject) => {
    execFile(python, ['-c', script], { cwd: folder, timeout: longestMs, signal, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (signal.aborted) reject(new CancelledError());
      else if (error === null) resolve(stdout);
      else reject(notStarted(python, stderr.trim().split('\n').at(-1) ?? '', error));
    });
  });
  const { version, gpus, error } = parsed(printed.trim().split('\n').at(-1) ?? '');
  if (typeof version !== 'string' || typeof gpus !== 'number')
    throw unusable(sentence`${python} has no PyTorch (${typeof error === 'string' ? error : printed.slice(0, 200)})`);
  if (isOld(version)) throw unusable(sentence`${python} has PyTorch ${version}, which is too old`);
  return { version, gpus };
}

function unusable(what: Sentence): ExpectedError {
  return new ExpectedError('run-torch', what, sentence`install torch ${oldest.join('.')} or newer there, or choose another interpreter`);
}

function notStarted(python: string, printed: string, { code }: { readonly code?: unknown }): ExpectedError {
  const why = code === 'ENOENT' ? sentence`there is no such program` : sentence`${printed === '' ? String(code) : printed}`;
  return new ExpectedError(
    'run-python',
    sentence`${python} cannot be started: ${why}`,
    sentence`choose an interpreter, or set terapipe.python`,
  );
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}

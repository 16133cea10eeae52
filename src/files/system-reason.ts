import { ExpectedError } from '../core/errors';
import { type Sentence, sentence } from '../core/sentence';

/** Why a file could not be written, and what to do about it, in words. */
interface SystemReason {
  /** Ends a sentence: "the disk is full". */
  readonly why: Sentence;
  readonly remedy: Sentence;
}

const room = sentence`make room, or name another place`;
const elsewhere = sentence`name another place`;
const permissions = sentence`check the permissions of the file and its folder, or name another place`;

const refused: SystemReason = { why: sentence`it may not be written`, remedy: permissions };
const noFolder: SystemReason = { why: sentence`its folder does not exist`, remedy: sentence`create the folder, or name another place` };
const exists: SystemReason = { why: sentence`a file with that name exists`, remedy: elsewhere };
const inFile: SystemReason = { why: sentence`its folder is a file`, remedy: elsewhere };
const isFolder: SystemReason = { why: sentence`it is a folder`, remedy: sentence`name a file` };

/** By codes of the system, of Node.js, and of the file systems of VS Code. */
const reasons: ReadonlyMap<string, SystemReason> = new Map(
  Object.entries({
    ENOSPC: { why: sentence`the disk is full`, remedy: room },
    EDQUOT: { why: sentence`your disk quota is used up`, remedy: room },
    EFBIG: { why: sentence`it would be larger than files may be here`, remedy: elsewhere },
    EACCES: refused,
    EPERM: refused,
    NoPermissions: refused,
    EROFS: { why: sentence`its disk is read-only`, remedy: elsewhere },
    ENOENT: noFolder,
    FileNotFound: noFolder,
    EEXIST: exists,
    FileExists: exists,
    ENOTDIR: inFile,
    FileNotADirectory: inFile,
    EISDIR: isFolder,
    FileIsADirectory: isFolder,
    ELOOP: { why: sentence`it is a link that leads back to itself`, remedy: elsewhere },
    ENXIO: { why: sentence`nothing reads from it`, remedy: sentence`name a file` },
    ENAMETOOLONG: { why: sentence`its name is too long`, remedy: sentence`use a shorter name` },
    ERR_INVALID_ARG_VALUE: { why: sentence`its name has a NUL character`, remedy: sentence`use another name` },
    Unavailable: { why: sentence`its disk cannot be reached`, remedy: sentence`try again, or name another place` },
  }),
);

/** The code of an error of the system or of Node.js: `ENOSPC`. Null for errors of another kind. */
export function systemCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** A failure of the system in words; one without words keeps its code. Null when it is not a failure of the system. */
export function systemReason(error: unknown): SystemReason | null {
  const code = systemCode(error);
  return code === null ? null : (reasons.get(code) ?? { why: sentence`${code}`, remedy: elsewhere });
}

/** The error of a failed write: an expected error with the system's reason; an error of another kind as it is. */
export function notWritten(code: 'export-not-saved' | 'profile-not-saved', file: string, error: unknown): unknown {
  const reason = error instanceof ExpectedError ? null : systemReason(error);
  return reason === null ? error : new ExpectedError(code, sentence`${file} could not be written: ${reason.why}`, reason.remedy);
}

/** A process that the host's memory ran out for. */
export interface HostKill {
  /** Whether a checkpoint was being saved, by the last line about one. */
  readonly isSaving: boolean;
  /** What it asked for, where PyTorch's allocator of the CPU failed, bytes. */
  readonly requestBytes: number | null;
}

/*
 * The kernel's and schedulers' words for it, and those of what watches the processes: torch's DataLoader and elastic agent, DeepSpeed's
 * launcher, Slurm's cgroups, Kubernetes, Ray; and of PyTorch's CPU allocator (c10/core/impl/alloc_cpu.cpp).
 */
const killed =
  /DataLoader worker \(pid[^)]{0,40}\) is killed by signal: Killed|exitcode\s*: -9\b|exit code:? -9\b|Signal 9 \(SIGKILL\)|died with <Signals\.SIGKILL|oom[-_]kill|Out of memory: Killed process|cgroup out-of-memory handler|\bOOMKilled\b|killed due to memory pressure|DefaultCPUAllocator: (?:can't allocate memory|not enough memory)/;
const saving = /\bsav(?:ing|e) (?:a |the )?(?:model )?checkpoint|saving checkpoint|Saving model checkpoint/i;

/** Follows the lines of a log; `isStep`: the line is of a step, after which nothing is being saved. */
export function makeHostReader(): { readonly read: (line: string, isStep: boolean) => void; readonly end: () => HostKill | null } {
  let [isSaving, found] = [false, null as HostKill | null];
  return {
    read: (line, isStep) => {
      if (isStep) [isSaving, found] = [false, null];
      if (saving.test(line)) isSaving = true;
      if (found !== null || !killed.test(line)) return;
      const [, bytes] = /you tried to allocate (\d{1,18}) bytes/.exec(line) ?? [];
      found = { isSaving, requestBytes: bytes === undefined ? null : Number(bytes) };
    },
    end: () => found,
  };
}

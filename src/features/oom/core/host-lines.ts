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
  /DataLoader worker \(pid[^)]{0,40}\) is killed by signal: Killed|exitcode\s*: -9\b|exit code:? -9\b|Signal 9 \(SIGKILL\)|died with <Signals\.SIGKILL|oom[-_]kill|Out of memory: Killed process|cgroup out-of-memory handler|\bOOMKilled\b(?!["']?\s{0,9}[:=]\s{0,9}["']?false)|killed due to memory pressure|DefaultCPUAllocator: (?:can't allocate memory|not enough memory)/;
/** Signal 9: the host's memory is one of its senders. */
const signalNine = /-9\b|SIGKILL/;
/** The agent's line of what failed first. */
const firstNine = /\bfailed \(exitcode: -9\)/;
/** A process that failed of itself: an exception that is not for a peer's end, or an exit code of its own. */
const failed =
  /^(?:\s{0,9}\[\w{1,20}\]:)*\s?(?:[A-Za-z_]\w{0,80}\.){0,9}\w{0,80}(?:Error|Exception)(?::|\s*$)|\bexitcode\s*: (?:[1-9]|-(?!9\b|15\b)\d)/;
const ofPeer =
  /NCCL|Gloo|ProcessGroup|Dist\w{1,20}Error|ChildFailedError|CalledProcessError|Connection|[Bb]roken ?[Pp]ipe|peer|is killed by signal/;
const saved = /saved checkpoint|checkpoint saved|\{'loss'\s?:|\d%\|[^|]{0,300}\|\s{0,9}\d{1,12}\/\d{1,12} \[/i;
const saving = /\bsav(?:ing|e) (?:a |the )?(?:model )?checkpoint|saving checkpoint|Saving model checkpoint/i;

/** Follows the lines of a log; `isStep`: the line is of a step, after which nothing is being saved. */
export function makeHostReader(): { readonly read: (line: string, isStep: boolean) => void; readonly end: () => HostKill | null } {
  let [isSaving, isClosing, hasFailed, found] = [false, false, false, null as HostKill | null];
  return {
    read: (line, isStep) => {
      if (isStep) [isSaving, isClosing, hasFailed, found] = [false, false, false, null];
      if (saved.test(line)) isSaving = false;
      if (saving.test(line)) isSaving = true;
      // the agent ends a process itself
      if (line.includes('closing signal SIGTERM')) isClosing = true;
      if (
        line.includes('forcefully exiting') ||
        line.includes('closing signal SIGKILL') ||
        (failed.test(line) && !ofPeer.test(line) && !killed.test(line))
      )
        hasFailed = true;
      const [word] = killed.exec(line) ?? [];
      if (found !== null || word === undefined) return;
      // the agent ends the other processes before it names what failed first
      if (signalNine.test(word) && (hasFailed || (isClosing && !firstNine.test(line)))) return;
      const [, bytes] = /you tried to allocate (\d{1,18}) bytes/.exec(line) ?? [];
      found = { isSaving, requestBytes: bytes === undefined ? null : Number(bytes) };
    },
    end: () => found,
  };
}

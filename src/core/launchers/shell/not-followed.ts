import type { Finding } from '../../findings';
import type { Place } from '../../domain/located';
import { quoted } from '../../text';
import { sentence, type Sentence } from '../../sentence';
import type { Evaluation, Sourced } from '../../languages/shell/evaluation';
import type { Launch } from './launch';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import { unknownVariables } from './shell-remarks';

/**
 * What cannot be followed, each at its line: only where it can change what is planned.
 *
 * @finding shell-not-followed
 * A script is read and never run. A sourced file that is not here, a list of flags that nobody sets (`$@`, `$EXTRA_ARGS`), a command line
 * nested too deep: what they add is left out. It is reported only where the launch needs a value that nobody sets. Files next to the script
 * and in the folders above it are followed, and so are `eval`, `bash -c` and scripts that a here-document writes.
 * @example `torchrun pretrain_gpt.py $EXTRA_ARGS` where nothing sets the variable. "$EXTRA_ARGS is not set here: flags that it adds are
 * left out"
 * @source The script itself.
 * @ignore what is left out sets nothing that a plan needs: paths, logging, data.
 */
export function notFollowedRemarks(texts: ScriptTexts, launch: Launch, { sourced, lost }: Evaluation): readonly Finding[] {
  const isOpen = unknownVariables(launch.flags).length > 0 || launch.rest.length > 0;
  const missing = sourced.filter(({ isFound, path, isWhole }) => !isFound && !isOfSystem(path ?? '', isWhole));
  return [
    ...(isOpen || !launch.isCommand ? missing.map((each) => notHere(texts, each)) : []),
    ...lost.map((range) => remark(texts.placeAt(range), sentence`This command line is too long or nested too deep to be followed`)),
    ...restRemarks(launch),
  ];
}

/** Files of a shell or a toolkit that set no sizes: `~/.bashrc`, `/etc/profile`, `venv/bin/activate`, `set_env.sh`. */
export function isOfSystem(path: string, isWhole: boolean): boolean {
  return (isWhole && /^[~/]/.test(path)) || /(?:^|\/)(?:\.?bash_?(?:rc|_profile)|\.?profile|activate|(?:set_?env|setvars|vars|conda|lmod|modules?|bash)(?:\.sh)?)$/.test(path); // prettier-ignore
}

function notHere(texts: ScriptTexts, { path, range }: Sourced): Finding {
  const message =
    path === null
      ? sentence`Which file is sourced here is only known when the script runs, and so is what it sets`
      : sentence`${quoted(path)} is missing, so its settings are unknown`;
  return { ...remark(texts.placeAt(range), message), remedy: sentence`open the folder that holds it too` };
}

/** Words that may be more flags: `"$@"`, `$EXTRA_ARGS` that nobody sets. One remark for all. */
function restRemarks({ rest }: Launch): Finding[] {
  const [first] = rest;
  if (first === undefined) return [];
  const names = [...new Set(rest.map(({ variable }) => `$${variable}`))].slice(0, 4).join(', ');
  return [
    {
      ...remark(first.place, sentence`${names} is not set here: flags that it adds are left out`),
      remedy: sentence`name a script that holds all flags, or give the variable a default`,
    },
  ];
}

function remark(place: Place, message: Sentence): Finding {
  return {
    code: 'shell-not-followed',
    severity: 'information',
    place,
    message,
    remedy: sentence`write its flags out to plan with them`,
    fixes: [],
  };
}

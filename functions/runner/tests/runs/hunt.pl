# A hostile process: looks for what it must not see and tries what it must not do. It knows the
# layout of a run's folders, and what a secret looks like, written backwards.
#   perl hunt.pl <secret backwards> <folder of the run> <file of another run> <haul>
# Ends with 1 and says what it found, never the secret itself.
use strict;
use warnings;
use Fcntl;
use MIME::Base64;

my ($backwards, $run, $other, $haul) = @ARGV;
my $secret = reverse $backwards;
my (@found, $files, $kept);
$kept = '';

sub found { push @found, join ' ', @_; }

sub slurp {
    my ($path, $most) = @_;
    # A FIFO must not be waited for.
    sysopen(my $file, $path, O_RDONLY | O_NONBLOCK) or return undef;
    my $text = '';
    while (length $text < $most) {
        my $count = sysread($file, $text, 65536, length $text);
        last unless $count;
    }
    return $text;
}

sub look {
    my ($where, $text) = @_;
    return unless defined $text;
    found("a secret in $where") if index($text, $secret) >= 0;
    # As in basic authentication. Large texts are programs.
    return if length $text > 65536;
    while ($text =~ m{([A-Za-z0-9+/]{24,}={0,2})}g) {
        found("an encoded secret in $where") if index(decode_base64($1), $secret) >= 0;
    }
}

# The environment, its own and everybody's.
look("my variable $_", $ENV{$_}) for keys %ENV;
found("the variable $_") for grep { /^(AWS_|AWO_NONCE|AWO_CONTROL|ECS_|GIT_)/ } keys %ENV;
opendir(my $proc, '/proc') or die;
my @pids = grep { /^\d+$/ } readdir $proc;
for my $pid (@pids) {
    for my $what ('environ', 'cmdline') {
        my $text = slurp("/proc/$pid/$what", 1 << 20);
        look("/proc/$pid/$what", $text);
        $kept .= $text if defined $text;
    }
}

# The supervisor and the runner.
sub parent {
    my ($stat) = slurp("/proc/$_[0]/stat", 4096) =~ /.*\) \S (\d+)/s or die;
    return $stat;
}
my $pid = $$;
$pid = parent($pid) until $pid == 0 || slurp("/proc/$pid/cmdline", 4096) =~ /^[^\0]*runner\0supervise\0/;
# In a namespace of its own they have no number, and the first process there is another one of the runner's.
my @above = $pid ? ('supervisor', 'runner') : ('first process');
$pid ||= 1;
my $trace = `uname -m` =~ /x86_64/ ? 101 : 117;
for my $who (@above) {
    $pid = parent($pid) if $who eq 'runner';
    for my $what ('environ', 'mem', 'maps', 'smaps', 'auxv', 'io', 'stack', 'syscall') {
        sysopen(my $file, "/proc/$pid/$what", O_RDONLY) or next;
        my $text;
        # Some open for all and show nothing.
        found("$what of the $who") if sysread($file, $text, 8) && $what ne 'syscall';
    }
    found("memory of the $who, to write") if sysopen(my $mem, "/proc/$pid/mem", O_RDWR);
    found("$_ of the $who") for grep { defined readlink "/proc/$pid/$_" } 'cwd', 'root', 'exe';
    my $fds = 0;
    if (opendir(my $dir, "/proc/$pid/fd")) {
        $fds = grep { defined readlink "/proc/$pid/fd/$_" } readdir $dir;
    }
    found("descriptors of the $who") if $fds;
    found("signals to the $who") if kill 0, $pid;
    if (syscall($trace, 16, $pid + 0, 0, 0) == 0) {
        found("tracing the $who");
        waitpid $pid, 0x40000000;
        syscall($trace, 17, $pid + 0, 0, 0);
    }
    found("limits of the $who, to write") if sysopen(my $oom, "/proc/$pid/oom_score_adj", O_WRONLY);
}

# What was handed down.
opendir(my $own, '/proc/self/fd') or die;
for my $fd (grep { /^\d+$/ } readdir $own) {
    my $to = readlink "/proc/self/fd/$fd";
    next if !defined $to || $fd <= 2 || $to =~ m{^/proc(/\d+/fd)?$} || $to =~ /hunt\.pl$/;
    found("descriptor $fd, $to");
}
my $status = slurp('/proc/self/status', 65536);
found('new privileges') unless $status =~ /^NoNewPrivs:\s*1$/m;
found('capabilities') unless $status =~ /^CapEff:\s*0+$/m;
found('groups') unless $status =~ /^Groups:\s*$/m;
found('core dumps') unless slurp('/proc/self/limits', 65536) =~ /^Max core file size\s+0\s+0/m;

# Files: those of the run, of the organization, of everybody.
my ($org) = $run =~ m{^(.*)/[^/]+$};
my ($root) = $org =~ m{^(.*)/[^/]+$};
for my $dir ($run, $org, $root) {
    found("a listing of $dir") if opendir(my $list, $dir) && $dir ne $root;
    found("a new entry of $dir") if mkdir "$dir/hunted";
    found("a new file of $dir") if sysopen(my $file, "$dir/hunted.txt", O_WRONLY | O_CREAT);
}
look('a file of another run', slurp($other, 1 << 20));
found('a file of another run, to write') if sysopen(my $file, $other, O_WRONLY);
for my $name ('repo.git/config', 'repo.git/HEAD', 'git.config', 'request.json', 'prompt.txt', 'logs/1.log') {
    my $path = "$run/$name";
    found("$name, to write") if sysopen(my $file, $path, O_WRONLY);
    found("$name, to remove") if unlink $path;
    found("$name, to move") if rename $path, "$path.moved";
}
for my $name ('repo.git', 'repo.git/objects', 'repo.git/refs/heads', 'repo.git/hooks', 'aside', 'verify', 'logs') {
    found("$name, to write in") if mkdir "$run/$name/hunted";
}
sub walk {
    my ($dir, $depth) = @_;
    opendir(my $list, $dir) or return;
    for my $name (readdir $list) {
        next if $name eq '.' || $name eq '..' || $files > 4_000;
        my $path = "$dir/$name";
        next if -l $path;
        if (-d _) {
            walk($path, $depth - 1) if $depth > 0;
        } elsif (-f _ && -s _ < 1_000_000) {
            $files++;
            look($path, slurp($path, 1_000_000)) unless $path eq "$haul";
        }
    }
}
$files = 0;
walk($_, 6) for $run, "$run/repo.git", "$run/logs", "$run/verify", $org, $root;
walk($_, 6) for grep { defined } $ENV{HOME}, $ENV{TMPDIR}, '.';
walk($_, 1) for '/dev/shm', '/var/tmp', '/run', '/root', '/home', '/etc', '/tmp';

if (open(my $file, '>>', $haul)) { print $file $kept; }
print "looked at ", scalar(@pids), " processes and $files files\n";
print "FOUND $_\n" for @found;
exit(@found ? 1 : 0);

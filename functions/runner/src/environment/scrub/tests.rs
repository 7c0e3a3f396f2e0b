use std::time::Duration;

use super::*;
use crate::stop;

const VALUE: &str = "hunter2-hunter2";

/// Scrubs with time enough.
fn scrubbed(
    masks: &Masks,
    folders: &[PathBuf],
    what: (SystemTime, Option<u32>),
) -> io::Result<usize> {
    let limit = SearchLimit::after(Duration::from_secs(600), stop::channel().1);
    scrub(masks, folders, what, &limit)
}

#[test]
fn values_are_taken_out_of_files_and_links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
    fs::create_dir_all(inside.join("deep/er")).unwrap();
    let write = |path: &Path, text: String| fs::write(path, text).unwrap();
    write(&outside, format!("theirs {VALUE}"));
    let config = inside.join("deep/er/.npmrc");
    write(&config, format!("token={VALUE}\n"));
    write(&inside.join("plain"), "nothing".to_owned());
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    fs::hard_link(&outside, inside.join("hard")).unwrap();
    // Across the pieces in which a file is read.
    let torn = inside.join("torn");
    write(&torn, "x".repeat(CHUNK_BYTES - 4) + VALUE);
    fs::set_permissions(&torn, Permissions::from_mode(0o755)).unwrap();
    let masks = Masks::of(vec![VALUE]);
    let began = SystemTime::now() - std::time::Duration::from_secs(60);
    assert_eq!(
        scrubbed(&masks, std::slice::from_ref(&inside), (began, None)).unwrap(),
        3
    );
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(
        read(&config),
        format!("token={}\n", "*".repeat(VALUE.len()))
    );
    assert!(!read(&torn).contains("hunter"));
    assert_eq!(fs::metadata(&torn).unwrap().mode() & 0o777, 0o755);
    assert_eq!(read(&outside), format!("theirs {VALUE}"));
    assert!(!read(&inside.join("hard")).contains("hunter"));
    assert_eq!(scrubbed(&masks, &[inside], (began, None)).unwrap(), 0);
}

#[test]
fn names_links_and_attributes_with_a_value_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let inside = |name: &str| dir.path().join(name);
    fs::write(inside(&format!("name-{VALUE}")), "x").unwrap();
    fs::create_dir_all(inside(&format!("deep/folder-{VALUE}/below"))).unwrap();
    std::os::unix::fs::symlink(VALUE, inside("link")).unwrap();
    std::os::unix::fs::symlink("plain", inside("other")).unwrap();
    fs::write(inside("plain"), "x").unwrap();
    let plain = File::open(inside("plain")).unwrap();
    let set = |name: &str, value: &str| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::fsetxattr(&plain, name, value.as_bytes(), flags)
    };
    let has_attributes = set("user.note", VALUE).is_ok() && set("user.other", "x").is_ok();
    let masks = Masks::of(vec![VALUE]);
    let folders = [dir.path().to_owned()];
    let changed = scrubbed(&masks, &folders, (SystemTime::UNIX_EPOCH, None)).unwrap();
    assert_eq!(changed, 3 + usize::from(has_attributes));
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
    left.sort_by_key(DirEntry::file_name);
    let left: Vec<_> = left.iter().map(DirEntry::file_name).collect();
    assert_eq!(left, ["deep", "other", "plain"]);
    assert_eq!(fs::read_dir(inside("deep")).unwrap().count(), 0);
    if has_attributes {
        assert!(fgetxattr_query(&plain, "user.note").is_err());
        assert_eq!(fgetxattr_query(&plain, "user.other").unwrap(), 1);
    }
}

#[test]
fn holes_are_not_read_and_what_stands_between_them_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = dir.path().join("sparse");
    let mut file = File::create(&sparse).unwrap();
    file.set_len(1 << 42).unwrap();
    let masks = Masks::of(vec![VALUE]);
    let folders = [dir.path().to_owned()];
    let search = || scrubbed(&masks, &folders, (SystemTime::UNIX_EPOCH, None)).unwrap();
    // Reading four tebibytes would take longer than any test.
    assert_eq!(search(), 0);
    file.seek(io::SeekFrom::Start(1 << 41)).unwrap();
    file.write_all(VALUE.as_bytes()).unwrap();
    assert_eq!(search(), 1);
    assert!(!sparse.exists(), "it is too large to be written anew");
}

#[test]
fn what_another_user_owns_is_left_alone_in_a_shared_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, VALUE).unwrap();
    let own = fs::metadata(&path).unwrap().uid();
    let masks = Masks::of(vec![VALUE]);
    let folders = [dir.path().to_owned()];
    let search = |owner| scrubbed(&masks, &folders, (SystemTime::UNIX_EPOCH, Some(owner))).unwrap();
    assert_eq!(search(own + 1), 0);
    assert_eq!(search(own), 1);
}

#[test]
fn what_no_phase_has_touched_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("old"), VALUE).unwrap();
    let later = SystemTime::now() + std::time::Duration::from_secs(60);
    let folders = [dir.path().to_owned()];
    let masks = Masks::of(vec![VALUE]);
    assert_eq!(scrubbed(&masks, &folders, (later, None)).unwrap(), 0);
    let none = Masks::default();
    assert_eq!(
        scrubbed(&none, &folders, (SystemTime::UNIX_EPOCH, None)).unwrap(),
        0
    );
}

#[test]
fn a_search_ends_with_the_time_of_its_run_and_with_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), VALUE).unwrap();
    let masks = Masks::of(vec![VALUE]);
    let folders = [dir.path().to_owned()];
    let search = |limit: &SearchLimit| {
        let all = (SystemTime::UNIX_EPOCH, None);
        NotSearched::from(scrub(&masks, &folders, all, limit).unwrap_err())
    };
    let (switch, signal) = stop::channel();
    let ended = search(&SearchLimit::expired(signal.clone()));
    assert!(matches!(ended, NotSearched::OutOfTime), "{ended}");
    switch.stop(stop::StopReason::Fenced);
    let limit = SearchLimit::after(Duration::from_secs(600), signal);
    assert!(limit.check().is_ok(), "a moment is left");
    std::thread::sleep(Duration::from_millis(1_050));
    let ended = search(&limit);
    assert!(matches!(ended, NotSearched::Stopped), "{ended}");
}

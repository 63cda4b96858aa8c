use super::{NESTED, wrong};

#[test]
fn what_selects_disks_is_taken() {
    for text in [
        "disk.transport == \"nvme\" && !system_disk",
        "disk.size > 100u * GB && disk.size <= 2u * TiB",
        "disk.model.contains('Samsung') || glob('WD*', disk.model) // both",
        "disk.serial in ['a', \"b\", '''c''', r'\\d', 'd\\x41\\u00e4\\101']",
        "disk.symlinks.exists(link, link.startsWith('/dev/disk/by-id/nvme-'))",
        "size(disk.secondary_disks.filter(d, d != '')) == 2 && !disk.symlinks.all(s, s.matches('^a.*$'))",
        "has(disk.model) ? disk.rotational : !disk.rotational",
        "double(disk.size) / 1e9 > .5 && int(disk.size) > -9223372036854775808 && 0xFFu < 3U",
        "{'sda': 1, 'sdb': 2}['sda'] == 1 && [1, 'a', 2.0][0] == 1 && [] == []",
        "type(disk.size) == uint && timestamp('2026-01-01T00:00:00Z').getFullYear() - 26 == 2000",
        "disk.size > 100u && !!!disk.cdrom && --disk.size != 1u",
        "disk == null || dyn(disk.size) > 5 || dyn(1)",
        "disk.symlinks.exists(s, disk.size > 1) && disk.size > 1",
        "--1 == 1 && !!system_disk && .disk.size != 0u",
        "disk.symlinks.map(s, s != '', s + 'x') == ['x',]",
    ] {
        assert_eq!(wrong(text), None, "{text}");
    }
}

#[test]
fn a_mistake_is_named_with_its_place() {
    for (text, want) in [
        (
            "(disk.size > 1u",
            "at character 1: nothing closes this \"(\"",
        ),
        (
            "disk.model == \"a && !system_disk",
            "at character 15: nothing closes this quote",
        ),
        (
            "[disk)] !system_disk",
            "at character 6: \")\" cannot stand here",
        ),
        (
            "disk.size >",
            "at character 12: the expression ends where something has to follow",
        ),
        (
            "disk.sise > 1u",
            "at character 6: a disk has no field \"sise\", only size, io_size,",
        ),
        (
            "disc.size > 1u",
            "at character 1: \"disc\" is not known: there are disk, system_disk and the units KiB,",
        ),
        (
            "disk.size",
            "gives a uint, and has to be true or false for a disk: compare it",
        ),
        (
            "disk.size == 100 * 1000",
            "at character 11: \"==\" does not go between a uint and a int: sizes are uint, so write a number as 100u",
        ),
        (
            "disk.size > 100 || disk.symlinks.all(s, 1 < 2u)",
            "at character 11: \">\" does not go between a uint and a int: sizes",
        ),
        (
            "disk.size = 1u",
            "at character 11: \"=\" compares nothing: write ==",
        ),
        (
            "system_disk & disk.cdrom",
            "at character 13: \"&\" joins nothing: write &&",
        ),
        (
            "disk.size > 1u && disk.model",
            "at character 16: \"&&\" does not go between a bool and a string",
        ),
        (
            "disk.model.startswith('a')",
            "at character 12: there is no function \"startswith\"",
        ),
        (
            "disk.model.startsWith(1)",
            "at character 12: startsWith() of a string does not take a int",
        ),
        (
            "!disk.size",
            "at character 1: \"!\" does not go with a uint",
        ),
        ("has(disk)", "at character 5: has() asks for a field"),
        (
            "disk.size.all(x, true)",
            "at character 1: all() goes through a list, and this is a uint",
        ),
        (
            "disk.symlinks.all(x, x)",
            "at character 22: this is a string and has to be true or false",
        ),
        (
            "disk.model.matches('\\d')",
            "at character 21: the backslash stands before nothing",
        ),
        (
            "disk.size > 18446744073709551616u",
            "at character 13: the number is too large",
        ),
        (
            "disk.größe > 1u",
            "at character 8: 'ö' does not belong into an expression",
        ),
        (
            "'ä' == 1",
            "at character 5: \"==\" does not go between a string and a int",
        ),
        ("", "at character 1: the expression ends"),
        ("// nothing", "at character 11: the expression ends"),
    ] {
        let said = wrong(text).unwrap_or_default();
        assert!(said.starts_with(want), "{text}: {said}");
    }
}

/// The greatest expression that the CRD lets pass, nested in every way, on a stack that is half of a worker's.
#[test]
fn nothing_that_fits_into_the_field_overflows_the_stack() {
    let most = 1024;
    let within = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut texts = vec![
        within("(", "true", ")", NESTED - 1),
        within("(", "true", ")", NESTED),
        within("[", "1", "]", 500),
        within("{1:", "1", "}", 200),
        within("size(", "''", ")", 170),
        within("true?true:", "true", "", 100),
        within("(true||true&&1==1+1*", "1", ")", 50),
        within("[1].all(x,", "true", ")", 80),
        within("-(", "1", ")", 300),
    ];
    let signs = [
        "(", "[", "{", "!", "-", "a.", "1+", "1?", "a(", "a[", "{1:", "'", "!(", "-[", "a.all(x,",
        "true&&(",
    ];
    texts.extend(signs.map(|sign| sign.repeat(most / sign.len())));
    let judge = std::thread::Builder::new().stack_size(1024 * 1024);
    let verdicts = judge.spawn(move || texts.iter().map(|text| wrong(text)).collect::<Vec<_>>());
    let verdicts = verdicts.expect("a thread").join().expect("no overflow");
    assert_eq!(verdicts[0], None);
    let deep = verdicts[1].as_deref().unwrap_or_default();
    assert!(
        deep.contains("more than 250 expressions are within each other"),
        "{deep}"
    );
    let rest = &verdicts[9..];
    assert!(rest.iter().all(Option::is_some), "{rest:?}");
}

/// Each macro makes the type of its element twice as long.
#[test]
fn types_do_not_grow_without_end() {
    let levels = "abcdefghijklmnopqrstuvwxyz".repeat(3);
    let mut text = "[1].all(z,".to_owned();
    let mut last = 'z';
    for name in levels.chars().take(60) {
        text = format!("{text}[{{{last}:{last}}}].all({name},");
        last = name;
    }
    text = format!("{text}true{}", ")".repeat(61));
    assert!(text.len() <= 1024);
    assert_eq!(wrong(&text), None);
}

proptest::proptest! {
    /// Neither a panic nor an endless loop, whatever stands there.
    #[test]
    fn any_text_has_a_verdict(text in "\\PC{0,80}", words in proptest::collection::vec(proptest::sample::select(vec![
        "disk", ".", "size", "(", ")", "[", "]", "{", "}", "'", "\"", "\\", "r'", "1", "1u", "0x", "e", "==", "&&", "!", "-", "?", ":", ",", " ", "ä",
        "all", "x", "in", "has", "\n", "//", "google", "true",
    ]), 0..60)) {
        wrong(&text);
        wrong(&words.concat());
    }
}

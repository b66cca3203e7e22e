"""Counter records of all jobs of a centre: read, kept in a database, asked, and told as tables (Rabenseifner 2000).

Data goes one way: `stream` (with `form` and `record`) makes records, `ingest` puts them into a `database`, `query` asks it, `benchmark`,
`table`, `overview` and `diagnosis` reckon, `document` (below: report) makes documents of that, and `text` makes text of these. Whoever
draws, mails or serves reports starts from `query` (rows) or from `report.period` and `report.job` (documents), and never from SQL:

    database = open_database("jobs.sqlite")
    week = period.week("2026-W43")
    for share in query.shares(database, report.within(Choice(), week), "user"):
        document = report.period(database, "user", week, Choice(user=share.name), benchmark.derived("default"))
        print(text.text(document))
"""
